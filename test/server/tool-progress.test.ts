import { LlmAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type ToolContext } from '../../src/adk/index.ts';
import { type Chunk, Grammar, type GrammarMode } from '../../src/protocol/index.ts';
import type { DuologueOptions } from '../../src/server/index.ts';
import { ManualClock } from '../support/clock.ts';
import { harness, read, say } from '../support/harness.ts';
import { decision, type LiveHarness, live } from '../support/live.ts';
import { call, ScriptedLiveConnection, ScriptedModel, text } from '../support/scripted-model.ts';
import { answers, approve } from './support/answers.ts';

const CALL = 'call-work';
const SCRIPT = [[call('work', {}, CALL)], [text('Done.')]];

/** A tool that runs as a test says: `step` is called once for each step, with its context. */
function working(execute: (context: ToolContext) => unknown, extra: object = {}) {
  const about = { name: 'work', description: 'Works.', parameters: z.object({}), ...extra };
  return defineTool({ ...about, execute: (_args, context) => execute(context) });
}

/** A step of a tool: `reached` when the tool waits there, until the test calls `open`. */
class Step {
  open: () => void = () => undefined;
  private reach: () => void = () => undefined;
  readonly reached = new Promise<void>((resolve) => {
    this.reach = resolve;
  });
  private readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });

  wait(): Promise<void> {
    this.reach();
    return this.opened;
  }
}

const outputs = (chunks: readonly Chunk[]) =>
  chunks.flatMap((chunk) =>
    chunk.type === 'tool-output-available' ? [[chunk.output, chunk.preliminary === true]] : [],
  );

function faults(mode: GrammarMode, chunks: readonly Chunk[]): string[] {
  const grammar = new Grammar(mode);
  return [...chunks.flatMap((chunk) => grammar.push(chunk)), ...grammar.end()];
}

async function* counted() {
  yield { done: 1 };
  yield { done: 2 };
}

async function* returning() {
  yield { done: 1 };
  return { done: 3 };
}

describe('a server tool that is an async generator', () => {
  it.each([
    ['the last value that it yields', counted, { done: 2 }],
    ['the value that it returns', returning, { done: 3 }],
  ])('[T40] shows what it yields as preliminary, and has as its output %s', async (_what, work, output) => {
    const made = harness(SCRIPT, [working(() => work())], { clock: new ManualClock() });
    const { chunks } = await made.post(say('go'));
    expect(outputs(chunks)).toEqual([
      [{ done: 1 }, true],
      [output, false],
    ]);
    expect(faults('sse', chunks)).toEqual([]);
    expect(made.model.requests.at(-1)?.contents?.at(-1)?.parts?.[0]?.functionResponse?.response).toEqual(
      output,
    );
  });

  it('may be a method of the definition', async () => {
    const tool = defineTool({
      name: 'work',
      description: 'Works.',
      async *execute() {
        yield 1;
      },
    });
    const { chunks } = await harness(SCRIPT, [tool], { clock: new ManualClock() }).post(say('go'));
    expect(outputs(chunks)).toEqual([
      [1, true],
      [1, false],
    ]);
  });

  it('that fails after some progress ends its call with the error', async () => {
    async function* failing() {
      yield { done: 1 };
      throw new Error('The printer is out of paper.');
    }
    const made = harness(SCRIPT, [working(() => failing())]);
    const { chunks } = await made.post(say('go'));
    expect(outputs(chunks)).toEqual([[{ done: 1 }, true]]);
    expect(chunks).toContainEqual({
      type: 'tool-output-error',
      toolCallId: CALL,
      errorText: 'The printer is out of paper.',
    });
    const { messages } = (await (await made.get('/sessions/chat-1')).json()) as {
      messages: { parts: object[] }[];
    };
    const part = messages.at(-1)?.parts[0];
    expect(part).toMatchObject({ state: 'output-error' });
    expect(part).not.toHaveProperty('output');
    expect(part).not.toHaveProperty('preliminary');
  });

  it('is stopped at its next value when the call is aborted, and may clean up', async () => {
    const log: string[] = [];
    const first = new Step();
    async function* endless() {
      try {
        for (let n = 0; ; n++) {
          yield n;
          await first.wait();
        }
      } finally {
        log.push('cleaned up');
      }
    }
    const { connect } = await live(SCRIPT, [working(() => endless())]);
    const socket = await connect();
    socket.say('go');
    await first.reached;
    socket.send('interrupt');
    await socket.chunk('tool-output-error');
    expect(log).toEqual([]);
    first.open();
    await expect.poll(() => log).toEqual(['cleaned up']);
  });
});

describe.each([
  ['over SSE', 'sse', {}],
  ['over BIDI, driven live', 'bidi', { driver: 'live' }],
  ['over BIDI, driven turn by turn', 'bidi', { driver: 'turn' }],
] as [string, GrammarMode, Partial<DuologueOptions>][])('context.progress %s', (_name, mode, options) => {
  /** Plays a conversation in which the tool runs, after an approval if it asks. */
  async function play(
    tool: ReturnType<typeof working>,
    asks: boolean,
    more: Partial<DuologueOptions>,
  ): Promise<Chunk[]> {
    if (mode === 'sse') {
      const made = harness(SCRIPT, [tool], { ...options, ...more });
      const first = await made.post(say('go'));
      if (!asks) return first.chunks;
      return [...first.chunks, ...(await answers(made, first, approve())).chunks];
    }
    const { connect } = await live(SCRIPT, [tool], { ...options, ...more });
    const socket = await connect();
    socket.say('go');
    if (asks) socket.send('message', decision(await socket.chunk('tool-approval-request')));
    await socket.done();
    return socket.chunks;
  }

  it.each([false, true])(
    '[T40] [T40a] shows each value, also of a tool that was approved (%s)',
    async (needsApproval) => {
      const tool = working(
        (context) => {
          context.progress({ percent: 10 });
          return { percent: 100 };
        },
        { needsApproval },
      );
      const chunks = await play(tool, needsApproval, {});
      expect(outputs(chunks)).toEqual([
        [{ percent: 10 }, true],
        [{ percent: 100 }, false],
      ]);
      expect(faults(mode, chunks)).toEqual([]);
    },
  );

  it('[T41] sends at most five values a second, and the newest of those that come between', async () => {
    const clock = new ManualClock();
    const tool = working((context) => {
      for (let n = 1; n <= 1000; n++) context.progress(n);
      clock.advance(199);
      context.progress(1001);
      clock.advance(1);
      context.progress(1002);
      return 'done';
    });
    // Sockets wait by the same clock before they send.
    const made = mode === 'sse' ? null : await live(SCRIPT, [tool], { ...options, clock });
    const chunks = made ? await overSocket(made, clock) : await play(tool, false, { clock });
    expect(outputs(chunks)).toEqual([
      [1, true],
      [1001, true],
      ['done', false],
    ]);
  });

  async function overSocket({ connect }: LiveHarness, clock: ManualClock): Promise<Chunk[]> {
    const socket = await connect();
    socket.say('go');
    await socket.until(() => {
      clock.advance(20);
      return socket.dones === 1;
    });
    return socket.chunks;
  }

  it('[T41a] sends no value that is too large, no JSON, or does not fit the output, says so once, and ends with the output', async () => {
    const warnings: [string, unknown][] = [];
    const logger = {
      info: () => undefined,
      warn: (message: string, fields?: Record<string, unknown>) => warnings.push([message, fields?.call]),
      error: () => undefined,
    };
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    const values = ['x'.repeat(32 * 1024), 'x'.repeat(32 * 1024), 1n];
    const work = (bad: unknown[]) =>
      working(
        (context) => {
          for (const value of bad) context.progress(value);
          return 'done';
        },
        { output: z.string() },
      );
    expect(outputs(await play(work(values), false, { logger }))).toEqual([['done', false]]);
    expect(outputs(await play(work([loop]), false, { logger }))).toEqual([['done', false]]);
    expect(warnings).toEqual([
      [
        'a preliminary output of the tool "work" is not shown: the value may have at most 32768 bytes, but it has 32770',
        CALL,
      ],
      [
        'a preliminary output of the tool "work" is not shown: work ran, but its output does not fit its schema: output: Invalid input: expected string, received object',
        CALL,
      ],
    ]);
  });

  it('[T41b] ignores a value that comes after the end of the call', async () => {
    let late: ToolContext | undefined;
    const tool = working((context) => {
      late = context;
      return 'done';
    });
    const chunks = await play(tool, false, {});
    late?.progress('late');
    expect(outputs(chunks)).toEqual([['done', false]]);
  });
});

describe('a preliminary output', () => {
  it('[T40b] is in the log for a client that comes back, and is not stored when the call has ended', async () => {
    const step = new Step();
    const clock = new ManualClock();
    const tool = working(async (context) => {
      context.progress({ percent: 10 });
      clock.advance(200);
      context.progress({ percent: 20 });
      await step.wait();
      return { percent: 100 };
    });
    const { duologue, post, get } = harness(SCRIPT, [tool], { clock });
    const posted = post(say('go'));
    await step.reached;
    const again = duologue.fetch(new Request('http://localhost/stream/chat-1/stream'));
    step.open();
    const first = await posted;
    const second = await read(await again);
    expect(outputs(first.chunks)).toEqual([
      [{ percent: 10 }, true],
      [{ percent: 20 }, true],
      [{ percent: 100 }, false],
    ]);
    expect(outputs(second.chunks)).toEqual(outputs(first.chunks));
    const after = (await (await get('/sessions/chat-1')).json()) as { messages: { parts: object[] }[] };
    expect(after.messages.at(-1)?.parts[0]).toEqual(expect.not.objectContaining({ preliminary: true }));
    expect(after.messages.at(-1)?.parts[0]).toMatchObject({ output: { percent: 100 } });
  });

  it('[T40c] of a call of an earlier message waits while the agent writes the next one', async () => {
    const step = new Step();
    let report: ToolContext | undefined;
    const tool = working(async (context) => {
      report = context;
      await step.wait();
      return 'paid';
    });
    const connection = new ScriptedLiveConnection();
    const model = new ScriptedModel([], { connections: [connection] });
    const agent = new LlmAgent({ name: 'assistant', model, tools: [tool] });
    const { connect } = await live([], [], { agent });
    const socket = await connect();
    connection.onSend = ({ kind }) => {
      if (kind === 'content') connection.push(call('work', {}, CALL));
    };
    socket.say('go');
    await step.reached;
    // The user speaks, and the model answers while the tool runs.
    connection.onSend = undefined;
    connection.push({ interrupted: true }, { ...text('Half'), partial: true });
    await socket.chunk('text-delta');
    report?.progress('half paid');
    connection.push({ ...text(' of it'), partial: true });
    await socket.chunk('text-delta', 2);
    expect(outputs(socket.chunks)).toEqual([]);
    connection.push(text('Half of it'), { turnComplete: true });
    await socket.until(() => outputs(socket.chunks).length === 1, 'the preliminary output');
    step.open();
    await socket.until(() => outputs(socket.chunks).length === 2, 'the output');
    expect(outputs(socket.chunks)).toEqual([
      ['half paid', true],
      ['paid', false],
    ]);
    expect(socket.chunks.filter(({ type }) => type === 'text-start')).toHaveLength(1);
    const [first, second, third] = socket.chunks.flatMap((chunk) =>
      chunk.type === 'start' ? chunk.messageId : [],
    );
    expect([second === first, third === first]).toEqual([false, true]);
  });
});
