import {
  BaseAgent,
  BaseLlm,
  type BaseLlmConnection,
  BaseLlmResponseProcessor,
  BasePlugin,
  type Event,
  type InvocationContext,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
} from '@google/adk';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { adkSafe } from '../../src/models/adk-safe.ts';
import { harness, say } from '../support/harness.ts';
import { live } from '../support/live.ts';
import { partial, ScriptedModel, type ScriptedTurn, text } from '../support/scripted-model.ts';

const story: ScriptedTurn = [
  partial('Once '),
  partial('upon '),
  partial('a time.'),
  text('Once upon a time.'),
];

/** The chunks that the user gets for the story, with hooks or without. */
const chunks = [
  'start',
  'text-start',
  'text-delta Once ',
  'text-delta upon ',
  'text-delta a time.',
  'text-end',
  'finish',
];

type Options = Parameters<typeof harness>[2];

/** Has the story told, each way. */
const WAYS = {
  async SSE(options: Options = {}) {
    return (await harness([story], [], options).post(say('tell'))).chunks;
  },
  async BIDI(options: Options = {}) {
    const socket = await (await live([story], [], options)).connect();
    socket.say('tell');
    await socket.done();
    return socket.chunks.filter(({ type }) => type !== 'data-session');
  },
};

async function reported(over: keyof typeof WAYS, options: Options = {}): Promise<string[]> {
  return (await WAYS[over](options)).map((chunk) =>
    chunk.type === 'text-delta' ? `${chunk.type} ${chunk.delta}` : chunk.type,
  );
}

/** What there is to see of an event or a response. */
function seenOf({ partial: isPartial, content }: LlmResponse): string[] {
  const text = content?.parts?.[0]?.text;
  return text === undefined ? [] : [`${isPartial ? 'partial' : 'whole'} ${text}`];
}

const PIECES = ['partial Once ', 'partial upon ', 'partial a time.'];
const WHOLE = 'whole Once upon a time.';

/** Sees every event that ADK yields. */
class Watcher extends BasePlugin {
  readonly seen: string[] = [];

  constructor() {
    super('watcher');
  }

  override async onEventCallback({ event }: { event: Event }): Promise<undefined> {
    this.seen.push(...seenOf(event));
  }
}

/** Sees every response on its way to the agent. */
class Processor extends BaseLlmResponseProcessor {
  readonly seen: string[] = [];

  // biome-ignore lint/correctness/useYield: it only looks.
  override async *runAsync(_: InvocationContext, response: LlmResponse): AsyncGenerator<Event, void, void> {
    this.seen.push(...seenOf(response));
  }
}

/** An agent of the application's own kind, which looks at everything that it says. */
class Noting extends LlmAgent {
  readonly seen: string[] = [];

  override runAsync(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return noted(super.runAsync(context), this.seen);
  }

  override runLive(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return noted(super.runLive(context), this.seen);
  }
}

async function* noted(events: AsyncGenerator<Event, void>, seen: string[]): AsyncGenerator<Event, void> {
  for await (const event of events) {
    seen.push(...seenOf(event));
    yield event;
  }
}

afterEach(() => vi.restoreAllMocks());

describe.each(['SSE', 'BIDI'] as const)('partial texts over %s', (over) => {
  it('[S3] reach the person as they come, and once', async () => {
    expect(await reported(over)).toEqual(chunks);
  });

  it('go past ADK, which gets the whole', async () => {
    const seen: string[] = [];
    for (const run of ['runAsync', 'runLive'] as const) {
      const original = BaseAgent.prototype[run];
      vi.spyOn(BaseAgent.prototype, run).mockImplementation(function (this: BaseAgent, context) {
        return noted(original.call(this, context), seen);
      });
    }
    expect(await reported(over)).toEqual(chunks);
    expect(seen).toEqual([WHOLE]);
  });

  it('pass through ADK when the agent is of a kind of its own', async () => {
    const agent = new Noting({ name: 'assistant', model: new ScriptedModel([story]) });
    expect(await reported(over, { agent })).toEqual(chunks);
    expect(agent.seen).toEqual([...PIECES, WHOLE]);
  });

  it('pass through ADK when a plugin of the application looks at events', async () => {
    const watcher = new Watcher();
    expect(await reported(over, { plugins: [watcher] })).toEqual(chunks);
    expect(watcher.seen).toEqual([...PIECES, WHOLE]);
  });

  it('pass through ADK when the agent has a processor that looks at what the model says', async () => {
    const processor = new Processor();
    const model = new ScriptedModel([story]);
    const agent = new LlmAgent({ name: 'assistant', model, responseProcessors: [processor] });
    expect(await reported(over, { agent })).toEqual(chunks);
    expect(processor.seen).toEqual([...PIECES, WHOLE]);
  });
});

/** A model of the application around one of ours: everything that it says is loud. */
class Loud extends BaseLlm {
  readonly nativeLive = true;
  private readonly inner: BaseLlm;

  constructor(inner: BaseLlm) {
    super({ model: 'loud' });
    this.inner = inner;
  }

  override generateContentAsync(...call: Parameters<BaseLlm['generateContentAsync']>) {
    return loud(this.inner.generateContentAsync(...call));
  }

  override async connect(request: LlmRequest): Promise<BaseLlmConnection> {
    const inner = await this.inner.connect(request);
    return {
      sendHistory: (history) => inner.sendHistory(history),
      sendContent: (content) => inner.sendContent(content),
      sendRealtime: (blob) => inner.sendRealtime(blob),
      sendActivityStart: async () => inner.sendActivityStart?.(),
      sendActivityEnd: async () => inner.sendActivityEnd?.(),
      receive: () => loud(inner.receive()),
      close: () => inner.close(),
    };
  }
}

async function* loud(responses: AsyncGenerator<LlmResponse, void>): AsyncGenerator<LlmResponse, void> {
  for await (const { content, ...rest } of responses) {
    const parts = content?.parts?.map((part) => ({ ...part, text: part.text?.toUpperCase() ?? '' }));
    yield parts ? { ...rest, content: { ...content, parts } } : rest;
  }
}

describe('partial texts', () => {
  it.each(['SSE', 'BIDI'] as const)('over %s do not go past a model of the application', async (over) => {
    const agent = new LlmAgent({ name: 'assistant', model: new Loud(adkSafe(new ScriptedModel([story]))) });
    expect(await reported(over, { agent })).toEqual(
      chunks.map((chunk) => chunk.replace(/(?<=text-delta ).*/, (delta) => delta.toUpperCase())),
    );
  });

  it('pass through ADK when the agent has a callback that looks at what the model says', async () => {
    const seen: (string | undefined)[] = [];
    const agent = new LlmAgent({
      name: 'assistant',
      model: new ScriptedModel([story]),
      afterModelCallback: ({ response }: { response: LlmResponse }) => {
        seen.push(response.content?.parts?.[0]?.text);
        return undefined;
      },
    });
    expect(await reported('SSE', { agent })).toEqual(chunks);
    expect(seen).toEqual(['Once ', 'upon ', 'a time.', 'Once upon a time.']);
  });

  it('[S8] that were said before a stop are kept, in the message and in the history', async () => {
    let stop: () => void = () => undefined;
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    const endless: ScriptedTurn = async function* (_request, _stream, signal) {
      yield partial('Once ');
      stop();
      await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
    };
    const server = harness([endless, [text('More.')]]);
    const first = server.post(say('tell'));
    await stopped;
    await server.duologue.fetch(
      new Request('http://localhost/sessions/chat-1/stop', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
      }),
    );
    expect((await first).chunks.at(-1)).toMatchObject({ finishReason: 'other' });
    await server.post(say('go on'));
    expect(server.model.lastContents.map(({ role, parts }) => [role, parts?.[0]?.text])).toEqual([
      ['user', 'tell'],
      ['model', 'Once '],
      ['user', 'go on'],
    ]);
  });
});
