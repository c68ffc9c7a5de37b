import {
  AsyncQueue,
  type BaseLlmConnection,
  type BaseTool,
  Gemini,
  type LlmRequest,
  type LlmResponse,
} from '@google/adk';
import type {
  Blob,
  Content,
  FunctionResponse,
  FunctionResponseScheduling,
  GoogleGenAI,
  LiveServerMessage,
  Session,
} from '@google/genai';
import { callsIn } from './function-calls.ts';
import { isGemini3Live, liveConfigOf, nonBlockingNames } from './gemini-config.ts';
import { GeminiMessages } from './gemini-messages.ts';
import { noticeOf } from './notice.ts';

/** How a live connection to Gemini is made. */
export interface GeminiLiveOptions {
  /** How long the server may take to accept the setup; 10 seconds by default. */
  setupTimeoutMs?: number;
  /**
   * Which tools the model goes on talking past, where it can: those that wait for a person or a browser. By default the tools
   * that have `nonBlocking: true`.
   */
  nonBlocking?: (tool: BaseTool) => boolean;
}

/** Whether a model of this name speaks Gemini's live protocol. */
export function isLiveModelName(model: string): boolean {
  return /(^|[-/])(live|native-audio)([-/]|$)/.test(model);
}

/** Whether a model still has ADK's own live connection, with the defects that `connectGemini` does not have. */
export function keepsStockConnection(model: Gemini): boolean {
  return model.connect === Gemini.prototype.connect;
}

/** Opens a live connection: fails when the server refuses, leaves or does not answer, and can be resumed. */
export async function connectGemini(
  model: Gemini,
  request: LlmRequest,
  options: GeminiLiveOptions = {},
): Promise<BaseLlmConnection> {
  const name = request.model ?? model.model;
  const client = model.liveApiClient;
  const nonBlocking = nonBlockingNames(request, {
    supported: !client.vertexai && !isGemini3Live(name),
    ...(options.nonBlocking ? { choose: options.nonBlocking } : {}),
  });
  const config = liveConfigOf(request, { vertexai: client.vertexai, nonBlocking });
  const incoming = new AsyncQueue<LiveServerMessage>();
  let isClosing = false;
  let failure = '';

  let refuse: (error: Error) => void = () => {};
  const refused = new Promise<never>((_, reject) => {
    refuse = reject;
  });
  refused.catch(() => {});
  const socket = watchSocket(client, () => {
    const error = new Error('The live model sent a frame that is not JSON. The connection was closed.');
    refuse(error);
    incoming.fail(error);
    socket.close();
  });
  const timeoutMs = options.setupTimeoutMs ?? 10_000;
  const timer = setTimeout(
    () => refuse(new Error(`The live model did not answer the setup within ${timeoutMs} ms.`)),
    timeoutMs,
  );
  try {
    const session = await Promise.race([
      refused,
      socket.live.connect({
        model: name,
        config,
        callbacks: {
          onmessage: (message) => incoming.push(message),
          onerror: (event) => {
            // The close event follows and says whether the connection can be resumed.
            failure = event.message;
          },
          onclose: (event) => {
            const error = closeError(event.code, event.reason || failure);
            refuse(error);
            if (isClosing || event.code === 1000) incoming.close();
            else incoming.fail(error);
          },
        },
      }),
    ]);
    return new GeminiLiveConnection(session, incoming, {
      model: name,
      nonBlocking,
      resumed: config.sessionResumption?.handle !== undefined,
      detectsActivity: config.realtimeInputConfig?.automaticActivityDetection?.disabled !== true,
      closing: () => {
        isClosing = true;
      },
    });
  } catch (error) {
    isClosing = true;
    socket.close();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

interface Wiring {
  model: string;
  nonBlocking: ReadonlySet<string>;
  resumed: boolean;
  /** Whether the server finds out by itself when the person speaks. */
  detectsActivity: boolean;
  closing: () => void;
}

/** One open connection to Gemini's live server. */
class GeminiLiveConnection implements BaseLlmConnection {
  private readonly session: Session;
  private readonly incoming: AsyncQueue<LiveServerMessage>;
  private readonly wiring: Wiring;
  private readonly messages: GeminiMessages;
  /** Calls that the server made on this connection, and arguments of those it was only told about. */
  private readonly made = new Set<string>();
  private readonly told = new Map<string, Record<string, unknown>>();

  constructor(session: Session, incoming: AsyncQueue<LiveServerMessage>, wiring: Wiring) {
    this.session = session;
    this.incoming = incoming;
    this.wiring = wiring;
    this.messages = new GeminiMessages({ modelVersion: wiring.model, resumed: wiring.resumed });
  }

  async sendHistory(history: Content[]): Promise<void> {
    for (const call of history.flatMap((content) => callsIn(content))) {
      if (call.id) this.told.set(call.id, call.args ?? {});
    }
    const turns = history.flatMap((content) => replayable(content) ?? []);
    if (turns.length === 0) return;
    const turnComplete = isGemini3Live(this.wiring.model) || turns.at(-1)?.role === 'user';
    this.session.sendClientContent({ turns, turnComplete });
  }

  async sendContent(content: Content): Promise<void> {
    const parts = content.parts ?? [];
    const responses = parts.flatMap((part) => part.functionResponse ?? []);
    if (responses.length > 0) {
      this.sendResponses(responses);
      return;
    }
    const [first] = parts;
    if (isGemini3Live(this.wiring.model) && parts.length === 1 && first?.text) {
      this.session.sendRealtimeInput({ text: first.text });
      return;
    }
    this.session.sendClientContent({ turns: [content], turnComplete: true });
  }

  async sendRealtime(blob: Blob): Promise<void> {
    this.session.sendRealtimeInput(blob.mimeType?.startsWith('audio/') ? { audio: blob } : { video: blob });
  }

  /** The person takes the floor. Where the server listens for that itself, it takes no such signal: content interrupts it. */
  async sendActivityStart(): Promise<void> {
    if (this.wiring.detectsActivity) this.session.sendClientContent({ turnComplete: false });
    else this.session.sendRealtimeInput({ activityStart: {} });
  }

  /** The person has finished; where the server listens for that itself: the microphone is off. */
  async sendActivityEnd(): Promise<void> {
    this.session.sendRealtimeInput(
      this.wiring.detectsActivity ? { audioStreamEnd: true } : { activityEnd: {} },
    );
  }

  async *receive(): AsyncGenerator<LlmResponse, void, void> {
    try {
      for await (const message of this.incoming) {
        for (const call of message.toolCall?.functionCalls ?? []) {
          if (call.id) this.made.add(call.id);
        }
        yield* this.messages.push(message);
      }
    } catch (error) {
      yield* this.messages.end();
      throw error;
    }
    yield* this.messages.end();
  }

  async close(): Promise<void> {
    this.wiring.closing();
    this.incoming.close();
    this.session.close();
  }

  private sendResponses(responses: FunctionResponse[]): void {
    const isTold = ({ id }: FunctionResponse) =>
      !this.wiring.resumed && id !== undefined && !this.made.has(id);
    const functionResponses = responses.filter((response) => !isTold(response));
    if (functionResponses.length > 0) {
      this.session.sendToolResponse({
        functionResponses: functionResponses.map((response) => this.scheduled(response)),
      });
    }
    // Calls of an earlier connection are not in this one's history, and the server refuses their responses.
    const late = responses.filter(isTold);
    if (late.length === 0) return;
    const parts = late.map(({ id = '', name = '', response = {} }) => ({
      text: noticeOf(name, this.told.get(id) ?? {}, response),
    }));
    const turnComplete = late.some(({ response }) => response?.interrupted !== true);
    this.session.sendClientContent({ turns: [{ role: 'user', parts }], turnComplete });
  }

  private scheduled(response: FunctionResponse): FunctionResponse {
    if (response.scheduling || !this.wiring.nonBlocking.has(response.name ?? '')) return response;
    const scheduling = response.response?.interrupted === true ? 'SILENT' : 'WHEN_IDLE';
    return { ...response, scheduling: scheduling as FunctionResponseScheduling };
  }
}

/** What of a content the live server takes as history: texts and images, no calls, no thoughts. */
function replayable(content: Content): Content | undefined {
  const parts = (content.parts ?? []).filter((part) => !part.thought && (part.text || part.inlineData));
  return parts.some((part) => part.text) ? { ...content, parts } : undefined;
}

/** Close codes after which the same session can be taken up again. */
const RESUMABLE = [1001, 1005, 1006, 1011, 1012, 1013, 1014];

/** ADK tries again after an error whose message says `connection closed`, given something to resume from. */
function closeError(code: number, reason: string): Error {
  const what = RESUMABLE.includes(code) ? 'Live connection closed' : 'The live model refused the connection';
  return Object.assign(new Error(`${what} (${code})${reason ? `: ${reason}` : ''}`), { code });
}

interface Watched {
  live: GoogleGenAI['live'];
  close: () => void;
}

interface SocketCallbacks {
  onmessage: (event: { data: unknown }) => void;
}

/**
 * The client's live door, with two repairs: a socket whose session never came to be can be closed, which the client itself keeps
 * out of reach; and a frame that is not JSON is told to `onUnreadable`, while the client would reject a promise that nobody
 * hears, which ends the process.
 */
function watchSocket(client: GoogleGenAI, onUnreadable: () => void): Watched {
  const { live } = client;
  type Factory = {
    create: (url: unknown, headers: unknown, callbacks: SocketCallbacks) => { close: () => void };
  };
  const { webSocketFactory: factory } = live as unknown as { webSocketFactory?: Factory };
  if (typeof factory?.create !== 'function') return { live, close: () => {} };
  let socket: { close: () => void } | undefined;
  const create: Factory['create'] = (url, headers, callbacks) => {
    let isReadable = true;
    const onmessage: SocketCallbacks['onmessage'] = ({ data }) => {
      // Node's socket gives a text or its bytes.
      const text = String(data);
      isReadable &&= isJson(text);
      if (isReadable) callbacks.onmessage({ data: text });
      else onUnreadable();
    };
    socket = factory.create(url, headers, { ...callbacks, onmessage });
    return socket;
  };
  const watched = Object.create(live, { webSocketFactory: { value: { create } } }) as GoogleGenAI['live'];
  return { live: watched, close: () => socket?.close() };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
