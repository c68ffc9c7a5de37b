import { AudioError } from '../audio/audio-error.ts';
import type { Connection, ConnectionEvent, SoundPlayer } from '../link/index.ts';
import type { VoiceTransport } from './voice-state.ts';

/** How long a connection may take to come. */
const PATIENCE_MS = 10_000;

/** What a line is made of. */
export interface LineContext {
  /** Where the agent's sound ends: how much of it is here, and how it is silenced. */
  soundEnd: SoundPlayer;
  /** Gets what is heard. */
  hear: (event: ConnectionEvent) => void;
  /** There is a connection, another one or the same come back; or none any more. */
  onConnection: (connection: Connection | null) => void;
  /** Another page took the floor. */
  onFloorLost: () => void;
}

/** The transport that a voice speaks over. */
export class Line {
  readonly #context: LineContext;
  #transport: VoiceTransport | null = null;
  #chatId = '';
  #detach: () => void = () => undefined;
  #onAttached: () => void = () => undefined;

  constructor(context: LineContext) {
    this.#context = context;
  }

  /** Null while there is no transport. */
  get connection(): Connection | null {
    return this.#transport?.connection ?? null;
  }

  /** Speaks over this transport from now on; null for none. Says whether it is another one. */
  attach(transport: VoiceTransport | null, chatId: string): boolean {
    this.#chatId = chatId;
    if (transport === this.#transport) return false;
    this.#detach();
    this.#detach = () => undefined;
    this.#transport = transport;
    const { soundEnd, onConnection } = this.#context;
    if (!transport) {
      onConnection(null);
      return true;
    }
    const { connection } = transport;
    connection.player = soundEnd;
    const stopListening = connection.listen((event) => this.#hear(event, connection));
    let wasLive = connection.state.status === 'live';
    const stopWatching = connection.subscribe(() => {
      const isLive = connection.state.status === 'live';
      if (isLive && !wasLive) onConnection(connection);
      wasLive = isLive;
    });
    onConnection(connection);
    this.#onAttached();
    this.#detach = () => {
      stopListening();
      stopWatching();
      if (connection.player === soundEnd) connection.player = undefined;
    };
    return true;
  }

  /** Resolves when there is a connection to a model that can hear; fails when there will be none. */
  async connected(): Promise<void> {
    await this.#live();
    if (this.connection?.info?.model.hears === false) throw new AudioError('deaf');
  }

  #live(): Promise<void> {
    return new Promise((resolve, reject) => {
      let stop: () => void = () => undefined;
      const end = (settle: () => void) => {
        clearTimeout(timer);
        this.#onAttached = () => undefined;
        stop();
        settle();
      };
      const fail = () => end(() => reject(new AudioError('unreachable')));
      const timer = setTimeout(fail, PATIENCE_MS);
      const look = () => {
        const transport = this.#transport;
        if (!transport) return;
        const { connection } = transport;
        if (connection.state.status === 'idle') transport.connect(this.#chatId);
        const { status } = connection.state;
        if (status === 'live') end(resolve);
        else if (status === 'closed' || status === 'taken-over') fail();
      };
      // A page that changes to the live mode only now has its transport in a moment.
      this.#onAttached = () => {
        stop();
        stop = this.connection?.subscribe(look) ?? stop;
        look();
      };
      this.#onAttached();
    });
  }

  #hear(event: ConnectionEvent, { state }: Connection): void {
    this.#context.hear(event);
    let own = state.status === 'live' ? state.connectionId : null;
    let floor: string | null | undefined;
    if (event.type === 'session') {
      own = event.session.connectionId;
      floor = event.session.floor;
    } else if (event.type === 'chunk' && event.chunk.type === 'data-floor') {
      floor = event.chunk.data.connectionId;
    }
    if (floor !== null && floor !== undefined && floor !== own) this.#context.onFloorLost();
  }
}
