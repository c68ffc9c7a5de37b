import { AudioError } from '../audio/audio-error.ts';
import type { Connection, ConnectionEvent, SoundPlayer } from '../link/index.ts';
import { Listeners } from '../platform.ts';
import type { VoiceTransport } from './voice-state.ts';

/** How many milliseconds a connection may take to open. */
const CONNECT_MS = 10_000;

/** What a `Voice` gives its voice connection: the player to register, and callbacks. */
export interface VoiceConnectionContext {
  /** Registered as the player of the connection. */
  player: SoundPlayer;
  /** Gets the events of the connection. */
  receive: (event: ConnectionEvent) => void;
  /** Called when the voice gets another connection, and each time a connection becomes live. Null: there is no connection. */
  onConnection: (connection: Connection | null) => void;
  /** Called when another page became the active one. */
  onInactive: () => void;
}

/** The transport that a voice uses, and its connection. */
export class VoiceConnection {
  readonly #context: VoiceConnectionContext;
  readonly #changes = new Listeners<[]>();
  #transport: VoiceTransport | null = null;
  #chatId = '';
  #detach: () => void = () => undefined;

  constructor(context: VoiceConnectionContext) {
    this.#context = context;
  }

  /** The connection of the transport; null while there is no transport. */
  get connection(): Connection | null {
    return this.#transport?.connection ?? null;
  }

  /** Uses a transport from now on; null detaches the current one. Returns whether the transport changed. */
  attach(transport: VoiceTransport | null, chatId: string): boolean {
    this.#chatId = chatId;
    if (transport === this.#transport) return false;
    this.#detach();
    this.#detach = () => undefined;
    this.#transport = transport;
    const { player, onConnection } = this.#context;
    if (!transport) {
      onConnection(null);
      return true;
    }
    const { connection } = transport;
    connection.player = player;
    let wasLive = connection.state.status === 'live';
    const stops = [
      connection.listen((event) => this.#receive(event, connection)),
      connection.subscribe(() => {
        const isLive = connection.state.status === 'live';
        if (isLive && !wasLive) onConnection(connection);
        wasLive = isLive;
        this.#changes.notify();
      }),
    ];
    this.#detach = () => {
      for (const stop of stops) stop();
      if (connection.player === player) connection.player = undefined;
    };
    onConnection(connection);
    this.#changes.notify();
    return true;
  }

  /** Connects. Resolves when the connection is live and the model accepts sound; otherwise throws an `AudioError`. */
  async connected(): Promise<void> {
    await this.#untilLive();
    if (this.connection?.info?.model.hears === false) throw new AudioError('deaf');
  }

  /** Waits for a live connection. It also waits for a transport, because a page that has just changed to the mode `bidi` attaches one a moment later. */
  #untilLive(): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer);
        stop();
        settle();
      };
      const fail = () => end(() => reject(new AudioError('unreachable')));
      const check = () => {
        const transport = this.#transport;
        if (transport?.connection.state.status === 'idle') transport.connect(this.#chatId);
        const status = transport?.connection.state.status;
        if (status === 'live') end(resolve);
        else if (status === 'closed' || status === 'taken-over') fail();
      };
      const timer = setTimeout(fail, CONNECT_MS);
      const stop = this.#changes.add(check);
      check();
    });
  }

  #receive(event: ConnectionEvent, { state }: Connection): void {
    this.#context.receive(event);
    let own = state.status === 'live' ? state.connectionId : null;
    let active: string | null = null;
    if (event.type === 'session') {
      own = event.session.connectionId;
      active = event.session.floor;
    } else if (event.type === 'chunk' && event.chunk.type === 'data-floor') {
      active = event.chunk.data.connectionId;
    }
    if (active && active !== own) this.#context.onInactive();
  }
}
