import type { GoogleGenAI, LiveConnectConfig, LiveServerMessage, Session } from '@google/genai';
import type { LiveInput, LiveSocket, LiveSocketEvents, SocketClose } from '../live/provider.ts';
import type { FrameEncoder } from './frames.ts';
import { readMessage } from './messages.ts';

/** The facts with which a socket is opened. */
export interface SocketSetup {
  model: string;
  config: LiveConnectConfig;
  /** Whether the setup announces a history. Google's client has no option for that. */
  announcesHistory: boolean;
  /** Whether models of this family may continue after `turnComplete`, and report when they are idle. */
  reportsIdle: boolean;
}

/** The largest frame that is read: four minutes of sound. */
const MAX_FRAME = 16 * 1024 * 1024;
/** How many frames may come before the server accepts the setup. */
const MAX_EARLY = 100;

/** The socket inside Google's client, which the client's types do not show. */
interface RawSocket {
  send: (text: string) => void;
  close: () => void;
  ws?: {
    ping?: () => void;
    pause?: () => void;
    resume?: () => void;
    terminate?: () => void;
    on?: (event: 'pong', listener: () => void) => void;
    readyState?: number;
  };
}

interface RawCallbacks {
  onmessage: (event: { data: unknown }) => void;
}

type Factory = { create: (url: unknown, headers: unknown, callbacks: RawCallbacks) => RawSocket };

/**
 * One socket to Gemini's live server. Google's client hides a socket until its session starts, and throws in an event handler
 * when a frame is not JSON, which would end the process. So this class wraps the factory that creates the socket.
 */
export class GeminiSocket implements LiveSocket {
  private readonly events: LiveSocketEvents;
  private readonly encoder: FrameEncoder;
  private readonly reportsIdle: boolean;
  private raw: RawSocket | undefined;
  private session: Session | undefined;
  private isOver = false;
  private paused = false;
  private listensForPongs = false;
  private failure = '';

  constructor(client: GoogleGenAI, setup: SocketSetup, encoder: FrameEncoder, events: LiveSocketEvents) {
    this.events = events;
    this.encoder = encoder;
    this.reportsIdle = setup.reportsIdle;
    this.open(this.watched(client, setup), setup).catch((error: unknown) => {
      this.over({ code: 1006, reason: error instanceof Error ? error.message : String(error) });
    });
  }

  get isPaused(): boolean {
    return this.paused;
  }

  /** Sends an input. When Google's client throws for it, this socket closes with code 1007, and nothing is thrown. */
  send(input: LiveInput): void {
    const { session } = this;
    if (!session || this.isOver) return;
    const frame = this.encoder.encode(input);
    if (!frame) return;
    try {
      if ('clientContent' in frame) session.sendClientContent(frame.clientContent);
      else if ('realtimeInput' in frame) session.sendRealtimeInput(frame.realtimeInput);
      else session.sendToolResponse(frame);
    } catch (error) {
      this.raw?.close();
      this.over({ code: 1007, reason: error instanceof Error ? error.message : String(error) });
    }
  }

  pause(): void {
    if (this.paused || this.isOver) return;
    this.paused = true;
    this.raw?.ws?.pause?.();
  }

  resume(): void {
    if (!this.paused || this.isOver) return;
    this.paused = false;
    this.raw?.ws?.resume?.();
  }

  ping(): void {
    const { ws } = this.raw ?? {};
    if (!ws?.ping || !ws.on || this.paused) return this.events.onPong();
    if (!this.listensForPongs) ws.on('pong', () => this.isOver || this.events.onPong());
    this.listensForPongs = true;
    if (ws.readyState === 1) ws.ping();
  }

  close(isDead = false): void {
    this.isOver = true;
    try {
      if ((isDead || this.paused) && this.raw?.ws?.terminate) this.raw.ws.terminate();
      else this.raw?.close();
    } catch {
      // `close` throws for a socket that was never connected: ignore that.
    }
  }

  private async open(live: GoogleGenAI['live'], { model, config }: SocketSetup): Promise<void> {
    const early: LiveServerMessage[] = [];
    const session = await live.connect({
      model,
      config,
      callbacks: {
        onmessage: (message) => {
          if (!this.session) early.push(message);
          else this.read(message);
        },
        onerror: (event) => {
          // Only note the message: a close event follows, and reports it.
          this.failure = event.message;
        },
        onclose: ({ code, reason }) => this.over({ code, reason: reason || this.failure }),
      },
    });
    if (this.isOver) return session.close();
    this.session = session;
    this.events.onOpen();
    for (const message of early) this.read(message);
  }

  private read(message: LiveServerMessage): void {
    if (this.isOver) return;
    const read = readMessage(message, this.reportsIdle);
    if (read) return this.events.onMessage(read);
    this.isOver = true;
    this.events.onUnreadable();
  }

  private over(close: SocketClose): void {
    if (this.isOver) return;
    this.isOver = true;
    const status = /unexpected server response: (\d{3})/i.exec(this.failure || close.reason)?.[1];
    this.events.onClose({ ...close, ...(status ? { status: Number(status) } : {}) });
  }

  /** The client's live API with a socket factory that checks every frame. */
  private watched(client: GoogleGenAI, { announcesHistory }: SocketSetup): GoogleGenAI['live'] {
    const { live } = client;
    const { webSocketFactory: factory } = live as unknown as { webSocketFactory?: Factory };
    if (typeof factory?.create !== 'function') return live;
    const create: Factory['create'] = (url, headers, callbacks) => {
      // Google's client authenticates before it creates the socket. The connection may have been closed meanwhile.
      if (this.isOver) throw new Error('The socket was closed before it was opened.');
      let isAsked = false;
      let early = 0;
      const onmessage: RawCallbacks['onmessage'] = ({ data }) => {
        if (this.isOver) return;
        // Node's WebSocket passes a string or a Buffer: both have a length.
        const { length = 0 } = data as { length?: number };
        const text = length > MAX_FRAME ? '' : String(data);
        // Google's client has no session until it has sent the setup. A frame that arrives earlier would make its event handler throw.
        const isInTurn = isAsked && (this.session !== undefined || ++early <= MAX_EARLY);
        if (isInTurn && isObject(text)) return callbacks.onmessage({ data: text });
        this.isOver = true;
        this.events.onUnreadable();
      };
      const raw = factory.create(url, headers, { ...callbacks, onmessage });
      this.raw = raw;
      const send = raw.send.bind(raw);
      raw.send = (setup) => {
        raw.send = send;
        isAsked = true;
        send(announcesHistory ? withHistory(setup) : setup);
      };
      return raw;
    };
    return Object.create(live, { webSocketFactory: { value: { create } } }) as GoogleGenAI['live'];
  }
}

/** Adds the announcement of a history to a setup. */
function withHistory(text: string): string {
  const { setup, ...rest } = JSON.parse(text) as { setup: Record<string, unknown> };
  return JSON.stringify({
    ...rest,
    setup: { ...setup, historyConfig: { initialHistoryInClientContent: true } },
  });
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
