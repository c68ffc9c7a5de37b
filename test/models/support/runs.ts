import {
  type BaseLlm,
  type BaseTool,
  type Event,
  InMemorySessionService,
  LiveRequestQueue,
  LlmAgent,
  LogLevel,
  type RunConfig,
  Runner,
  type Session,
  StreamingMode,
  setLogLevel,
} from '@google/adk';
import type { Content, GenerateContentConfig, Part } from '@google/genai';
import { liveFactsOf } from '../../../src/adk/live-facts.ts';
import { instrumentModels } from '../../../src/models/adk-safe.ts';
import type { RetryPolicy } from '../../../src/models/retry-policy.ts';

setLogLevel(LogLevel.ERROR);

const APP = 'models';
const USER = 'someone';

/** An agent on a real ADK runner. */
export class TestRun {
  readonly agent: LlmAgent;
  readonly sessionService = new InMemorySessionService();
  private readonly runner: Runner;

  constructor(
    model: BaseLlm | string,
    options: {
      tools?: BaseTool[];
      subAgents?: LlmAgent[];
      instruction?: string;
      generateContentConfig?: GenerateContentConfig;
      stock?: boolean;
      retryPolicy?: Partial<RetryPolicy>;
    } = {},
  ) {
    // A script has one turn for each request, so the default is no retries.
    const { stock, retryPolicy = { retries: 0 }, ...rest } = options;
    this.agent = new LlmAgent({ name: 'assistant', model, ...rest });
    if (!stock) instrumentModels(this.agent, { retryPolicy });
    this.runner = new Runner({ appName: APP, agent: this.agent, sessionService: this.sessionService });
  }

  async session(): Promise<Session> {
    const id = { appName: APP, userId: USER, sessionId: 's' };
    return (await this.sessionService.getSession(id)) ?? (await this.sessionService.createSession({ ...id }));
  }

  /** One turn: the events that ADK yields. */
  async say(message: string | Part[], abortSignal?: AbortSignal): Promise<Event[]> {
    await this.session();
    const parts = typeof message === 'string' ? [{ text: message }] : message;
    const events: Event[] = [];
    for await (const event of this.runner.runAsync({
      userId: USER,
      sessionId: 's',
      newMessage: { role: 'user', parts },
      runConfig: { streamingMode: StreamingMode.SSE },
      ...(abortSignal ? { abortSignal } : {}),
    })) {
      events.push(event);
    }
    return events;
  }

  /** A live run. */
  async live(runConfig: RunConfig = {}): Promise<LiveRun> {
    await this.session();
    const queue = new LiveRequestQueue();
    const events = this.runner.runLive({ userId: USER, sessionId: 's', liveRequestQueue: queue, runConfig });
    return new LiveRun(queue, events);
  }
}

/** A live run whose events are gathered as they come. */
export class LiveRun {
  readonly queue: LiveRequestQueue;
  readonly events: Event[] = [];
  error: unknown;
  isOver = false;
  private readonly over: Promise<void>;
  private readonly waiting: (() => void)[] = [];

  constructor(queue: LiveRequestQueue, source: AsyncGenerator<Event, void>) {
    this.queue = queue;
    this.over = this.read(source);
  }

  say(text: string): void {
    this.queue.sendContent({ role: 'user', parts: [{ text }] });
  }

  answer(id: string, name: string, response: Record<string, unknown>): void {
    this.queue.sendContent({ role: 'user', parts: [{ functionResponse: { id, name, response } }] });
  }

  /** The contents and signals so far, without ids and times. */
  get seen(): Record<string, unknown>[] {
    return this.events.map(plain);
  }

  /** Resolves when the condition holds; asked after each event and at the end. */
  async until(condition: (run: LiveRun) => boolean): Promise<void> {
    while (!condition(this)) {
      if (this.isOver) throw this.error ?? new Error(`The run ended first: ${JSON.stringify(this.seen)}`);
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  /** How often the turn was completed. */
  get turns(): number {
    return this.events.filter((event) => event.turnComplete).length;
  }

  get calls(): { id: string; name: string }[] {
    return this.events.flatMap((event) =>
      (event.content?.parts ?? []).flatMap((part) =>
        part.functionCall?.id ? [{ id: part.functionCall.id, name: part.functionCall.name ?? '' }] : [],
      ),
    );
  }

  /** Resolves when the run is over by itself. */
  async end(): Promise<void> {
    await this.over;
  }

  async close(): Promise<void> {
    this.queue.close();
    await this.over;
  }

  private async read(source: AsyncGenerator<Event, void>): Promise<void> {
    try {
      for await (const event of source) {
        this.events.push(event);
        this.wake();
      }
    } catch (error) {
      this.error = error;
    }
    this.isOver = true;
    this.wake();
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

const KEPT = [
  'content',
  'partial',
  'turnComplete',
  'interrupted',
  'finishReason',
  'errorCode',
  'errorMessage',
  'usageMetadata',
  'groundingMetadata',
  'inputTranscription',
  'outputTranscription',
  'customMetadata',
  'liveSessionResumptionUpdate',
] as const;

/** What an event says, without its ids and times. */
export function plain(event: Event): Record<string, unknown> {
  const kept = Object.fromEntries(
    KEPT.flatMap((key) => (event[key] === undefined ? [] : [[key, event[key]]])),
  );
  if (!event.turnComplete) return kept;
  const { customMetadata, ...rest } = kept;
  return liveFactsOf(event).wasIdle ? { ...rest, isIdle: true } : rest;
}

/** Contents as lines: who said which kinds of things. */
export function lines(contents: Content[]): string[] {
  return contents.map((content) => {
    const parts = (content.parts ?? []).map((part) => {
      if (part.functionCall) return `call ${part.functionCall.name}`;
      if (part.functionResponse) {
        return `response ${part.functionResponse.name} ${JSON.stringify(part.functionResponse.response)}`;
      }
      return part.inlineData ? `file ${part.inlineData.mimeType}` : part.text;
    });
    return `${content.role}: ${parts.join(' | ')}`;
  });
}
