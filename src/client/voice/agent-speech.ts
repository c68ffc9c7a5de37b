import { BINARY } from '../../protocol/codec.ts';
import { pcm16Of } from '../audio/pcm.ts';
import type { AudioPlayer } from '../audio/player.ts';
import type { ConnectionEvent, Played } from '../link/index.ts';

/** More than a server counts to before it begins again: a new epoch numbers its utterances behind the old one's. */
const EPOCH = 2 ** 24;

interface Utterance {
  /** Its number for the player, which never sees one twice. */
  readonly n: number;
  /** Its number on the wire. */
  readonly number: number;
  readonly messageId: string;
  /** Whether nothing more of it comes, or is wanted. */
  isOver: boolean;
}

/** What the agent says aloud, on its way from a connection to the loudspeaker. */
export class AgentSpeech {
  private readonly player: Pick<AudioPlayer, 'play' | 'end' | 'interrupt' | 'isPlaying' | 'heard'>;
  private epoch: string | null = null;
  private base = 0;
  private newest: Utterance | null = null;
  /** The one before, whose end may still be playing. */
  private before: Utterance | null = null;
  /** How many samples of the newest one have come. */
  private came = 0;
  /** The message of the last `start`. */
  private current: string | null = null;

  constructor(player: AgentSpeech['player']) {
    this.player = player;
  }

  /** Whether the agent is being heard, or about to be. */
  get isSpeaking(): boolean {
    return this.player.isPlaying || this.newest?.isOver === false;
  }

  /** What a connection hears; says whether the agent fell silent because somebody spoke. */
  hear(event: ConnectionEvent): boolean {
    if (event.type === 'session') this.begin(event.session.epoch);
    if (event.type === 'binary' && event.frame.kind === BINARY.audioDown) {
      this.play(event.frame.utterance ?? 0, event.frame.sampleRate, pcm16Of(event.frame.payload));
    }
    if (event.type !== 'chunk') return false;
    const { chunk } = event;
    switch (chunk.type) {
      case 'start':
        this.current = chunk.messageId ?? null;
        return false;
      case 'data-sound':
        this.announce(chunk.data.n, chunk.data.messageId);
        this.came = chunk.data.at;
        return false;
      case 'data-pcm': {
        // Without the subprotocol nobody counts: a message is one utterance.
        const { messageId, sampleRate } = chunk.data;
        if (this.newest?.messageId !== messageId) {
          this.announce((this.newest?.number ?? 0) + 1, messageId);
          this.came = 0;
        }
        const bytes = Uint8Array.from(atob(chunk.data.chunk), (one) => one.charCodeAt(0));
        this.play(this.newest?.number ?? 0, sampleRate, pcm16Of(bytes));
        return false;
      }
      case 'finish':
        return this.finish(chunk.messageMetadata?.interrupted === true);
      default:
        return false;
    }
  }

  /** The sound that is here, as the address of a new socket says it. */
  place(): string | null {
    return this.newest && `${this.newest.number}-${this.came}`;
  }

  /** Silence at once, and nothing more of what is being said. Returns what was heard of each message that was cut off, the newest last. */
  silence(): Played[] {
    const { newest, before, isSpeaking } = this;
    if (!newest || !isSpeaking) return [];
    newest.isOver = true;
    const heard = this.player.interrupt();
    const { messageId } = newest;
    const playedMs = Math.round(heard?.n === newest.n ? heard.ms : 0);
    const earlier =
      before && heard?.n === before.n
        ? [{ messageId: before.messageId, playedMs: Math.round(heard.ms) }]
        : [];
    return [...earlier, { messageId, playedMs }];
  }

  private begin(epoch: string): void {
    if (this.epoch !== null && this.epoch !== epoch) {
      this.base += EPOCH;
      this.newest = null;
    }
    this.epoch = epoch;
  }

  private announce(number: number, messageId: string): void {
    if (this.newest?.number === number) return;
    this.before = this.newest;
    if (this.before && !this.before.isOver) this.player.end(this.before.n);
    this.newest = { n: this.base + number, number, messageId, isOver: false };
  }

  private play(number: number, sampleRate: number, pcm: Int16Array): void {
    if (this.newest?.number !== number) return;
    this.player.play({ n: this.newest.n, at: this.came, sampleRate, pcm });
    this.came += pcm.length;
  }

  private finish(isInterrupted: boolean): boolean {
    const { newest } = this;
    if (!newest || newest.isOver || newest.messageId !== this.current) return false;
    if (isInterrupted) return true;
    newest.isOver = true;
    this.player.end(newest.n);
    return false;
  }
}
