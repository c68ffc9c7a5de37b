import { BINARY } from '../../protocol/codec.ts';
import { pcm16Of } from '../audio/pcm.ts';
import type { AudioPlayer } from '../audio/player.ts';
import type { ConnectionEvent, Played } from '../link/index.ts';

/**
 * In a new epoch (a new log), the server numbers utterances from 1 again. This value is then added to the numbers for the player, so that no number is
 * used twice. The numbers of a server have 24 bits, so this value is larger than all of them.
 */
const EPOCH = 2 ** 24;

interface Utterance {
  /** The number that the player gets for the utterance. No number is used twice. */
  readonly n: number;
  /** The number that the server gave the utterance. */
  readonly number: number;
  readonly messageId: string;
  /** Whether the utterance is complete or was interrupted, so that no more of its sound is expected. */
  isOver: boolean;
}

/** Passes the agent's sound from a connection to the player. */
export class AgentSpeech {
  readonly #player: Pick<AudioPlayer, 'play' | 'end' | 'interrupt' | 'isPlaying' | 'heard'>;
  #epoch: string | null = null;
  #base = 0;
  #newest: Utterance | null = null;
  /** The previous utterance, whose end may still be playing. */
  #previous: Utterance | null = null;
  /** How many samples of the newest utterance have arrived. */
  #received = 0;
  /** The id of the message in the last `start` chunk. */
  #current: string | null = null;

  constructor(player: Pick<AudioPlayer, 'play' | 'end' | 'interrupt' | 'isPlaying' | 'heard'>) {
    this.#player = player;
  }

  /** Whether the agent's sound is playing, or is about to play. */
  get isSpeaking(): boolean {
    return this.#player.isPlaying || this.#newest?.isOver === false;
  }

  /** The position after which the server continues the sound; null when no sound has arrived. */
  get position(): string | null {
    return this.#newest && `${this.#newest.number}-${this.#received}`;
  }

  /** Receives an event of the connection. Returns whether the server interrupted the message that is playing. */
  receive(event: ConnectionEvent): boolean {
    if (event.type === 'session') this.#startEpoch(event.session.epoch);
    if (event.type === 'binary' && event.frame.kind === BINARY.audioDown) {
      this.#play(event.frame.utterance ?? 0, event.frame.sampleRate, event.frame.payload);
    }
    if (event.type !== 'chunk') return false;
    const { chunk } = event;
    switch (chunk.type) {
      case 'start':
        this.#current = chunk.messageId ?? null;
        return false;
      case 'data-sound':
        this.#announce(chunk.data.n, chunk.data.messageId);
        this.#received = chunk.data.at;
        return false;
      case 'data-pcm': {
        // Over a socket without our subprotocol, the server does not number utterances. So all sound of a message is treated as one utterance.
        const { messageId, sampleRate } = chunk.data;
        if (this.#newest?.messageId !== messageId) {
          this.#announce((this.#newest?.number ?? 0) + 1, messageId);
          this.#received = 0;
        }
        const bytes = Uint8Array.from(atob(chunk.data.chunk), (one) => one.charCodeAt(0));
        this.#play(this.#newest?.number ?? 0, sampleRate, bytes);
        return false;
      }
      case 'finish':
        return this.#finish(chunk.messageMetadata?.interrupted === true);
      default:
        return false;
    }
  }

  /** Stops the sound at once, and drops the rest of the utterance. Returns how much was heard of each message that was cut, the newest last. */
  silence(): Played[] {
    const newest = this.#newest;
    const previous = this.#previous;
    if (!newest || !this.isSpeaking) return [];
    newest.isOver = true;
    const heard = this.#player.interrupt();
    const heardMs = Math.round(heard?.ms ?? 0);
    const played = [{ messageId: newest.messageId, playedMs: heard?.n === newest.n ? heardMs : 0 }];
    if (previous && heard?.n === previous.n)
      played.unshift({ messageId: previous.messageId, playedMs: heardMs });
    return played;
  }

  #startEpoch(epoch: string): void {
    if (this.#epoch !== null && this.#epoch !== epoch) {
      this.#base += EPOCH;
      this.#newest = null;
    }
    this.#epoch = epoch;
  }

  #announce(number: number, messageId: string): void {
    if (this.#newest?.number === number) return;
    this.#previous = this.#newest;
    if (this.#previous && !this.#previous.isOver) this.#player.end(this.#previous.n);
    this.#newest = { n: this.#base + number, number, messageId, isOver: false };
  }

  #play(number: number, sampleRate: number, bytes: Uint8Array): void {
    if (this.#newest?.number !== number) return;
    const pcm = pcm16Of(bytes);
    this.#player.play({ n: this.#newest.n, at: this.#received, sampleRate, pcm });
    this.#received += pcm.length;
  }

  #finish(isInterrupted: boolean): boolean {
    const newest = this.#newest;
    if (!newest || newest.isOver || newest.messageId !== this.#current) return false;
    if (isInterrupted) return true;
    newest.isOver = true;
    this.#player.end(newest.n);
    return false;
  }
}
