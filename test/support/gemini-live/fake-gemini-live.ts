import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { type LiveFamily, liveFamilyOf, onVertex } from '../../../src/models/gemini/families.ts';
import type { Timer } from '../../../src/models/retry-policy.ts';
import { fastTimer } from '../fast-timer.ts';
import { FakeProvider } from '../providers/fake-provider.ts';
import { gemini } from '../providers/gemini.ts';
import { LiveSession, type TurnFault } from './session.ts';
import { Hangs, QUIRKS, type Quirks, Refusal, readSetup } from './strict.ts';
import type { FakeVoice } from './voice.ts';

/** A fault of a socket before its session starts. */
export type SetupFault = { status: number } | { close: number; reason?: string } | 'hang' | 'cut' | 'garbage';

/** How a fake is made. */
export interface FakeLiveOptions {
  model: string;
  quirks?: Partial<Quirks>;
  /** Vertex: other names, other address, no ids of calls. */
  isVertex?: boolean;
  timer?: Timer;
  /** How long a socket lives; a minute before its end the fake sends `goAway`. */
  limitMs?: number | null;
  /** The voice of the model. Without one its speech is silence, and takes no time. */
  voice?: FakeVoice;
}

/** How long after an idle loss the service refuses to resume. */
const HELD_MS = 1000;

/**
 * Gemini Live on this machine, with its HTTP side: as strict as the service, its answers come from the rules of the
 * embedded model, and tests can make it fail.
 */
export class FakeGeminiLive {
  readonly http: FakeProvider;
  readonly quirks: Quirks;
  readonly sessions = new Map<string, LiveSession>();
  /** The faults of the next sockets and of the next answers. */
  readonly setupFaults: (SetupFault | undefined)[] = [];
  readonly turnFaults: (TurnFault | undefined)[] = [];
  /** The texts of the next utterances of the user: the fake does not recognise speech. */
  readonly utterances: string[] = [];
  /** Whether results of calls get lost on their way. */
  losesResponses = false;
  /** How the fake closes each socket as soon as its session has begun; null when it does not. */
  leavesAtOnce: { close: number; reason: string } | null = null;
  /** Whether a resumed session repeats the calls that have no results. */
  callsAgain = false;
  /** Why the fake refused messages. */
  readonly refused: string[] = [];
  /** Everything that was sent to it, socket by socket. */
  readonly received: Record<string, unknown>[][] = [];
  /** Sockets that are open now. */
  readonly open = new Set<WebSocket>();
  /** When a socket was last lost that the client had not closed. */
  private readonly lostAt = new Map<LiveSession, number>();
  private readonly options: FakeLiveOptions;
  /** The same time as its clients', which passes faster in most tests. */
  readonly timer: Timer;
  private readonly family: LiveFamily;
  private readonly sockets = new WebSocketServer({ noServer: true });
  private readonly raw = new WeakMap<LiveSession, { socket: WebSocket; stream: Duplex }>();
  private calls = 0;
  private waiting: (() => void)[] = [];

  private constructor(http: FakeProvider, options: FakeLiveOptions) {
    this.http = http;
    this.options = options;
    this.timer = options.timer ?? fastTimer(10);
    this.quirks = { ...QUIRKS, ...options.quirks };
    const family = liveFamilyOf(options.model);
    this.family = options.isVertex ? onVertex(family) : family;
    // From the third generation on no call goes unsigned.
    http.memory.items.set('signs calls', true);
    http.server.on('upgrade', (request, stream, head) => {
      const fault = this.setupFaults.shift();
      const path = options.isVertex ? /LlmBidiService\/BidiGenerateContent$/ : /BidiGenerateContent\?key=/;
      const status = typeof fault === 'object' && 'status' in fault ? fault.status : undefined;
      if (status !== undefined || !path.test(request.url ?? '')) {
        stream.end(`HTTP/1.1 ${status ?? 404} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
        return;
      }
      const isKey = options.isVertex || (request.url ?? '').endsWith(`?key=${http.key}`);
      this.sockets.handleUpgrade(request, stream, head, (socket) =>
        this.accept(socket, stream, fault, isKey),
      );
    });
  }

  static async start(options: FakeLiveOptions): Promise<FakeGeminiLive> {
    return new FakeGeminiLive(await FakeProvider.start(gemini), options);
  }

  /** The environment variables that make a server use this fake. */
  get environment(): Record<string, string> {
    const { model, isVertex } = this.options;
    if (!isVertex) return { ...this.http.environment, DUOLOGUE_MODEL: `gemini-3.8-flash,${model}` };
    return {
      DUOLOGUE_MODEL: `vertex/gemini-3.8-flash,vertex/${model}`,
      GOOGLE_CLOUD_PROJECT: 'project',
      GOOGLE_VERTEX_BASE_URL: this.http.url,
    };
  }

  /** The session that was begun last. */
  get session(): LiveSession {
    const session = [...this.sessions.values()].at(-1);
    if (!session) throw new Error('No session was begun.');
    return session;
  }

  /** Everything that was sent, of one kind. */
  sent(kind: string): unknown[] {
    return this.received.flat().flatMap((message) => (kind in message ? [message[kind]] : []));
  }

  /** Resolves when the condition holds; asked again whenever something arrives or a socket ends. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  /** Tells the socket of a session that the server will leave. */
  goAway(seconds: number, session = this.session): void {
    session.send?.({ goAway: { timeLeft: `${seconds}s` } });
  }

  /** Breaks the socket of a session while neither user nor model speaks. */
  lose(fault: TurnFault, session = this.session): void {
    this.breakSocket(session, fault);
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets.clients) socket.terminate();
    await this.http.stop();
  }

  private get now(): number {
    return this.timer.now();
  }

  private accept(socket: WebSocket, stream: Duplex, fault: SetupFault | undefined, isKey: boolean): void {
    const received: Record<string, unknown>[] = [];
    this.received.push(received);
    this.open.add(socket);
    let session: LiveSession | null = null;
    let isClosedByClient = false;
    socket.on('error', () => undefined);
    socket.on('close', (code) => {
      isClosedByClient ||= code === 1005 || code === 1000;
      this.open.delete(socket);
      if (session && this.raw.get(session)?.socket === socket) {
        if (!isClosedByClient && !session.isSpeaking) this.lostAt.set(session, this.now);
        session.lose();
      }
      this.wake();
    });
    socket.on('message', (data) => {
      const message = JSON.parse(String(data)) as Record<string, unknown>;
      received.push(message);
      try {
        if (session && 'toolResponse' in message && this.losesResponses) return this.wake();
        if (session) session.take(message);
        else session = this.begin(message, { socket, stream, fault, isKey });
      } catch (error) {
        if (error instanceof Hangs) return this.wake();
        if (!(error instanceof Refusal)) throw error;
        this.refused.push(error.message);
        socket.close(error.code, error.message.slice(0, 123));
      }
      this.wake();
    });
  }

  private begin(
    message: Record<string, unknown>,
    {
      socket,
      stream,
      fault,
      isKey,
    }: { socket: WebSocket; stream: Duplex; fault: SetupFault | undefined; isKey: boolean },
  ): LiveSession | null {
    if (!isKey) {
      socket.close(1007, 'API key not valid. Please pass a valid API key.');
      return null;
    }
    if (fault === 'hang') return null;
    if (fault === 'cut') {
      socket.terminate();
      return null;
    }
    if (fault === 'garbage') {
      socket.send('{"setupComplete":');
      return null;
    }
    if (typeof fault === 'object' && 'close' in fault) {
      socket.close(fault.close, fault.reason);
      return null;
    }
    const { setup: given } = message;
    if (typeof given !== 'object' || given === null)
      throw new Refusal(1007, 'setup must be the first message');
    const setup = readSetup(
      given as Record<string, unknown>,
      this.family,
      this.quirks,
      this.options.isVertex === true,
    );
    if (!setup.model.endsWith(this.options.model)) {
      socket.close(
        1008,
        `${setup.model} is not found for API version v1alpha, or is not supported for bidiGenerateContent.`,
      );
      return null;
    }
    const old = setup.handle === undefined ? undefined : this.sessions.get(setup.handle);
    if (setup.handle !== undefined && !old) throw new Refusal(1008, 'Requested entity was not found.');
    if (old && (old.send || this.now - (this.lostAt.get(old) ?? Number.NEGATIVE_INFINITY) < HELD_MS)) {
      socket.close(1011, 'Internal error encountered.');
      return null;
    }
    const handle = setup.handle ?? `handle-${this.sessions.size + 1}`;
    const session =
      old ??
      new LiveSession(handle, setup, {
        family: this.family,
        isVertex: this.options.isVertex === true,
        quirks: this.quirks,
        think: (asked) => this.http.think(asked),
        nextFault: () => this.turnFaults.shift(),
        breakSocket: (one, what) => this.breakSocket(one, what),
        newCallId: () => `function-call-${++this.calls}`,
        voice: this.options.voice,
        understand: () => this.understand(),
        wait: (ms) => new Promise((resolve) => void this.timer.after(ms, resolve)),
      });
    this.sessions.set(handle, session);
    this.raw.set(session, { socket, stream });
    session.send = (one) => socket.send(JSON.stringify(one));
    session.send({ setupComplete: {} });
    if (this.quirks.handles !== 'never') {
      session.send({ sessionResumptionUpdate: { newHandle: handle, resumable: true } });
    }
    this.limit(socket, session);
    if (this.leavesAtOnce) socket.close(this.leavesAtOnce.close, this.leavesAtOnce.reason);
    if (old) session.resume(setup);
    if (old && this.callsAgain) session.again();
    return session;
  }

  private understand(): string | undefined {
    const words = this.utterances.shift();
    if (words === undefined) this.refused.push('Somebody spoke, and no test says what.');
    return words;
  }

  /** Closes the socket after `limitMs`; a minute before that it sends `goAway`. */
  private limit(socket: WebSocket, session: LiveSession): void {
    const { options, timer } = this;
    const { limitMs } = options;
    if (!limitMs) return;
    const isIts = () => this.raw.get(session)?.socket === socket && socket.readyState === 1;
    timer.after(limitMs - 60_000, () => isIts() && this.goAway(60, session));
    timer.after(
      limitMs,
      () => isIts() && socket.close(1011, 'Deadline expired before operation could complete.'),
    );
  }

  private breakSocket(session: LiveSession, fault: TurnFault): void {
    const { socket, stream } = this.raw.get(session) ?? {};
    if (!socket || !stream) return;
    if (fault === 'garbage') socket.send('{"serverContent":{"modelTurn":');
    else if (fault === 'half a frame') {
      // A frame that says it has a hundred bytes, and ends after four.
      stream.end(Buffer.from([0x81, 100, 0x7b, 0x22, 0x73, 0x65]));
    } else if (fault === 'cut') socket.terminate();
    else if (typeof fault === 'object' && 'close' in fault) socket.close(fault.close, fault.reason);
    else if (typeof fault === 'object' && 'goAway' in fault) this.goAway(fault.goAway, session);
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}
