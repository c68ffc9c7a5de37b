import type { GoogleGenAI, LiveConnectConfig, LiveServerMessage, Session } from '@google/genai';
import type { Closed } from '../live/close.ts';
import type { Frame } from './frames.ts';

/** What a socket is opened with. */
export interface SocketSetup {
  model: string;
  config: LiveConnectConfig;
  /** Whether the setup says that a history follows, which the client's own types leave no room for. */
  announcesHistory: boolean;
}

/** What comes of a socket. After `onClose` nothing comes. */
export interface SocketEvents {
  onOpen: () => void;
  onMessage: (message: LiveServerMessage) => void;
  onPong: () => void;
  /** A frame came that is not JSON. */
  onUnreadable: () => void;
  onClose: (closed: Closed) => void;
}

/** Four minutes of sound: no frame is larger. */
const MAX_FRAME = 16 * 1024 * 1024;
/** Frames that may come before the answer to the setup. */
const MAX_EARLY = 100;

/** What the client's socket is, behind its types. */
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
 * One socket to Gemini's live server. The client keeps a socket whose session never came to be out of reach, and a frame that
 * is not JSON would end the process: so its door is watched.
 */
export class GeminiSocket {
  private readonly events: SocketEvents;
  private raw: RawSocket | undefined;
  private session: Session | undefined;
  private isOver = false;
  /** Whether it is not read for now. */
  isPaused = false;
  private listensForPongs = false;
  private failure = '';

  constructor(client: GoogleGenAI, setup: SocketSetup, events: SocketEvents) {
    this.events = events;
    this.open(this.watched(client, setup), setup).catch((error: unknown) => {
      this.over({ code: 1006, reason: error instanceof Error ? error.message : String(error) });
    });
  }

  /** Sends a frame. One that the client refuses ends this socket, never the process. */
  send(frame: Frame): void {
    const { session } = this;
    if (!session || this.isOver) return;
    try {
      if ('clientContent' in frame) session.sendClientContent(frame.clientContent);
      else if ('realtimeInput' in frame) session.sendRealtimeInput(frame.realtimeInput);
      else session.sendToolResponse(frame);
    } catch (error) {
      this.raw?.close();
      this.over({ code: 1007, reason: error instanceof Error ? error.message : String(error) });
    }
  }

  /** Reads no further for now: what comes waits at the server. */
  pause(): void {
    if (this.isPaused || this.isOver) return;
    this.isPaused = true;
    this.raw?.ws?.pause?.();
  }

  resume(): void {
    if (!this.isPaused || this.isOver) return;
    this.isPaused = false;
    this.raw?.ws?.resume?.();
  }

  /** Asks for a sign of life. A socket that cannot be asked, or is not read, counts as alive. */
  ping(): void {
    const { ws } = this.raw ?? {};
    if (!ws?.ping || !ws.on || this.isPaused) return this.events.onPong();
    if (!this.listensForPongs) ws.on('pong', () => this.isOver || this.events.onPong());
    this.listensForPongs = true;
    if (ws.readyState === 1) ws.ping();
  }

  /** Closes it; one that is dead without waiting for the other side. */
  close(isDead = false): void {
    this.isOver = true;
    try {
      if ((isDead || this.isPaused) && this.raw?.ws?.terminate) this.raw.ws.terminate();
      else this.raw?.close();
    } catch {
      // It was never connected.
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
          else if (!this.isOver) this.events.onMessage(message);
        },
        onerror: (event) => {
          // The close event follows.
          this.failure = event.message;
        },
        onclose: ({ code, reason }) => this.over({ code, reason: reason || this.failure }),
      },
    });
    if (this.isOver) return session.close();
    this.session = session;
    this.events.onOpen();
    for (const message of early) if (!this.isOver) this.events.onMessage(message);
  }

  private over(closed: Closed): void {
    if (this.isOver) return;
    this.isOver = true;
    const status = /unexpected server response: (\d{3})/i.exec(this.failure || closed.reason)?.[1];
    this.events.onClose({ ...closed, ...(status ? { status: Number(status) } : {}) });
  }

  private watched(client: GoogleGenAI, { announcesHistory }: SocketSetup): GoogleGenAI['live'] {
    const { live } = client;
    const { webSocketFactory: factory } = live as unknown as { webSocketFactory?: Factory };
    if (typeof factory?.create !== 'function') return live;
    const create: Factory['create'] = (url, headers, callbacks) => {
      // Who signs in takes time, and meanwhile nobody may want it any more.
      if (this.isOver) throw new Error('The socket was given up before it was opened.');
      let isAsked = false;
      let early = 0;
      const onmessage: RawCallbacks['onmessage'] = ({ data }) => {
        if (this.isOver) return;
        // Node's socket gives a text or its bytes.
        const { length = 0 } = data as { length?: number };
        const text = length > MAX_FRAME ? '' : String(data);
        // Whoever answers before the setup was sent finds a client that has no session yet, and throws where nobody hears it.
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

/** Puts the announcement of a history into a setup. */
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
