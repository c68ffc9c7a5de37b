import { LlmAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { type DataOptions, defineTool, type ToolContext } from '../../src/adk/index.ts';
import { DuologueTransport } from '../../src/client/index.ts';
import { type Chunk, Grammar, type GrammarMode, type Message } from '../../src/protocol/index.ts';
import { createMemoryStore, type DuologueOptions } from '../../src/server/index.ts';
import { buildWith } from '../protocol/support/sdk.ts';
import { ManualClock } from '../support/clock.ts';
import { harness, type Posted, read, say } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import { call, ScriptedModel, type ScriptedTurn, text } from '../support/scripted-model.ts';
import { sdks } from '../support/sdks.ts';
import { answers, approve } from './support/answers.ts';

const CALL = 'call-work';
const SCRIPT: ScriptedTurn[] = [[call('work', {}, CALL)], [text('Done.')]];

const data = {
  chart: z.object({ title: z.string(), values: z.array(z.number()).default([]) }),
  note: z.string(),
};

/** A tool that runs as a test says. */
function working(execute: (context: ToolContext) => unknown, extra: object = {}) {
  const about = { name: 'work', description: 'Works.', parameters: z.object({}), ...extra };
  return defineTool({ ...about, execute: (_args, context) => execute(context) });
}

const isOwn = ({ type }: { type: string }) => type === 'data-chart' || type === 'data-note';
const own = (chunks: readonly Chunk[]) => chunks.filter(isOwn) as unknown[];

function faults(mode: GrammarMode, chunks: readonly Chunk[]): string[] {
  const grammar = new Grammar(mode, Object.keys(data));
  return [...chunks.flatMap((chunk) => grammar.push(chunk)), ...grammar.end()];
}

async function messages(get: (path: string) => Promise<Response>): Promise<Message[]> {
  return ((await (await get('/sessions/chat-1')).json()) as { messages: Message[] }).messages;
}

describe.each([
  ['over SSE', 'sse', {}],
  ['over BIDI, driven live', 'bidi', { driver: 'live' }],
  ['over BIDI, driven turn by turn', 'bidi', { driver: 'turn' }],
] as [string, GrammarMode, Partial<DuologueOptions>][])('context.data %s', (_name, mode, options) => {
  /** Plays a conversation in which the tool runs, after an approval if it asks. `stored`: the message of the agent, as it is stored. */
  async function play(
    tool: ReturnType<typeof working>,
    { asks = false, ...more }: Partial<DuologueOptions> & { asks?: boolean } = {},
  ): Promise<{ chunks: Chunk[]; stored: Message | undefined }> {
    const given = { data, clock: new ManualClock(), ...options, ...more };
    if (mode === 'sse') {
      const made = harness(SCRIPT, [tool], given);
      const first = await made.post(say('go'));
      const rest = asks ? (await answers(made, first, approve())).chunks : [];
      return { chunks: [...first.chunks, ...rest], stored: (await messages(made.get)).at(-1) };
    }
    const { clock, ...real } = given;
    const { connect, get } = await live(SCRIPT, [tool], { ...real, ...(more.clock ? { clock } : {}) });
    const socket = await connect('?session=chat-1');
    socket.say('go');
    if (asks) socket.send('message', decision(await socket.chunk('tool-approval-request')));
    if (more.clock)
      await socket.until(() => {
        (more.clock as ManualClock).advance(20);
        return socket.dones === 1;
      });
    await socket.done();
    const chunks = socket.received.flatMap((one) => (one.kind === 'chunk' ? [one.chunk] : []));
    return { chunks, stored: (await messages(get)).at(-1) };
  }

  it.each([false, true])(
    '[T42] [T42c] adds a part to the message before the outcome of the call, stored too, also after an approval (%s)',
    async (asks) => {
      const tool = working(
        (context) => {
          context.data('chart', { title: 'Sales' });
          return 'done';
        },
        { needsApproval: asks },
      );
      const { chunks, stored } = await play(tool, { asks });
      const sent = { type: 'data-chart', data: { title: 'Sales', values: [] } };
      expect(own(chunks)).toEqual([sent]);
      const types = chunks.map(({ type }) => type as string);
      expect(types.indexOf('data-chart')).toBeLessThan(types.indexOf('tool-output-available'));
      expect(
        faults(
          mode,
          chunks.filter(({ type }) => type !== 'data-session'),
        ),
      ).toEqual([]);
      expect(stored?.parts.filter(isOwn)).toEqual([sent]);
    },
  );

  it('[T42d] replaces the part with the same name and id, and keeps parts without an id apart', async () => {
    const tool = working((context) => {
      context.data('chart', { title: 'Sales', values: [1] }, { id: 'sales' });
      context.data('note', 'one');
      context.data('note', 'two');
      context.data('chart', { title: 'Sales', values: [1, 2] }, { id: 'sales' });
      return 'done';
    });
    const { stored } = await play(tool);
    expect(stored?.parts.filter(isOwn)).toEqual([
      { type: 'data-chart', id: 'sales', data: { title: 'Sales', values: [1, 2] } },
      { type: 'data-note', data: 'one' },
      { type: 'data-note', data: 'two' },
    ]);
  });

  it('[T42e] sends a transient value to the page, and stores nothing of it', async () => {
    const tool = working((context) => {
      context.data('note', 'looking', { transient: true });
      return 'done';
    });
    const { chunks, stored } = await play(tool);
    expect(own(chunks)).toEqual([{ type: 'data-note', data: 'looking', transient: true }]);
    expect(stored?.parts.filter(isOwn)).toEqual([]);
  });

  it('[T42b] sends nothing that is not declared, does not fit, is too large or has a wrong id; says so once, and the call has its output', async () => {
    const warnings: string[] = [];
    const logger = {
      info: () => undefined,
      warn: (message: string) => void (message.includes('"work"') && warnings.push(message)),
      error: () => undefined,
    };
    const tool = working((context) => {
      context.data('graph', 1);
      context.data('graph', 2);
      context.data('toString', 1);
      context.data('chart', { title: 1 });
      context.data('note', 'x'.repeat(32 * 1024));
      context.data('note', 'fits', { id: 7 } as unknown as DataOptions);
      return 'done';
    });
    const { chunks } = await play(tool, { logger });
    expect(own(chunks)).toEqual([]);
    expect(chunks).toContainEqual({ type: 'tool-output-available', toolCallId: CALL, output: 'done' });
    expect(warnings).toEqual([
      'the data "graph" of the tool "work" is not shown: it is not declared in the option "data" of createDuologue',
      'the data "toString" of the tool "work" is not shown: it is not declared in the option "data" of createDuologue',
      'the data "chart" of the tool "work" is not shown: it does not fit its schema: title: Invalid input: expected string, received number',
      'the data "note" of the tool "work" is not shown: the value may have at most 32768 bytes, but it has 32770',
    ]);
  });

  it('[T43] sends values five times a second, the newest of each part, and the rest before the call ends', async () => {
    const clock = new ManualClock();
    const tool = working((context) => {
      for (let n = 1; n <= 1000; n++) context.data('note', String(n), { id: 'count' });
      clock.advance(199);
      context.data('note', 'other', { id: 'other' });
      context.data('note', '1001', { id: 'count' });
      clock.advance(1);
      context.data('note', '1002', { id: 'count' });
      return 'done';
    });
    const { chunks } = await play(tool, { clock });
    expect(own(chunks)).toEqual([
      { type: 'data-note', id: 'count', data: '1' },
      { type: 'data-note', id: 'count', data: '1001' },
      { type: 'data-note', id: 'other', data: 'other' },
      { type: 'data-note', id: 'count', data: '1002' },
    ]);
  });

  it('[T43] sends at most 32,768 bytes at a time', async () => {
    const clock = new ManualClock();
    const large = 'x'.repeat(20_000);
    const tool = working((context) => {
      for (let n = 0; n < 4; n++) context.data('note', `${n}${large}`);
      clock.advance(200);
      clock.advance(200);
      return 'done';
    });
    const { chunks } = await play(tool, { clock });
    expect(own(chunks).map((chunk) => (chunk as { data: string }).data[0])).toEqual(['0', '1', '2', '3']);
  });

  it('[T43a] sends at most 64 parts of a call; a part whose value is replaced counts once', async () => {
    const tool = working((context) => {
      for (let n = 0; n < 70; n++) context.data('note', String(n), { id: 'same' });
      for (let n = 0; n < 100; n++) context.data('note', String(n));
      context.data('note', 'last', { id: 'same' });
      return 'done';
    });
    const { stored } = await play(tool);
    const parts = stored?.parts.filter(isOwn) ?? [];
    expect(parts).toHaveLength(64);
    expect(parts[0]).toEqual({ type: 'data-note', id: 'same', data: 'last' });
    expect(parts.at(-1)).toEqual({ type: 'data-note', data: '62' });
  });

  it('[T42] ignores data that comes after the end of the call', async () => {
    let late: ToolContext | undefined;
    const tool = working((context) => {
      late = context;
      return 'done';
    });
    const { chunks } = await play(tool);
    late?.data('note', 'late');
    expect(own(chunks)).toEqual([]);
  });
});

describe('own data', () => {
  it.each(sdks)('[T42] is a part of the message that the AI SDK %s builds', async (_version, sdk) => {
    const tool = working((context) => {
      context.data('chart', { title: 'Sales', values: [1] }, { id: 'sales' });
      context.data('note', 'now', { transient: true });
      return 'done';
    });
    const made = harness(SCRIPT, [tool], { data, clock: new ManualClock() });
    const { chunks } = await made.post(say('go'));
    const stored = (await messages(made.get)).at(-1);
    const id = stored?.id ?? '';
    const built = await buildWith(sdk, { id, role: 'assistant', parts: [] }, chunks);
    expect(built).toEqual(stored);
    expect(built.parts.some(isOwn)).toBe(true);
  });

  it.each(sdks)(
    '[T42] reaches a page with our transport over a socket and the AI SDK %s',
    async (_version, sdk) => {
      const tool = working((context) => {
        context.data('chart', { title: 'Sales', values: [1] }, { id: 'sales' });
        context.data('note', 'now', { transient: true });
        return 'done';
      });
      const { url, get } = await live(SCRIPT, [tool], { data });
      const transient: Chunk[] = [];
      const transport = new DuologueTransport({
        url: url.replace(/\/live$/, ''),
        WebSocket: WebSocket as never,
        onData: (chunk) => transient.push(chunk),
      });
      const stream = await transport.sendMessages({
        chatId: 'chat-1',
        messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'go' }] }],
        trigger: 'submit-message',
        messageId: undefined,
        abortSignal: undefined,
      });
      let shown: Message | undefined;
      for await (const message of sdk.readUIMessageStream<Message>({ stream: stream as never }))
        shown = message;
      transport.close();
      const part = { type: 'data-chart', id: 'sales', data: { title: 'Sales', values: [1] } };
      expect(shown?.parts.filter(isOwn)).toEqual([part]);
      expect((await messages(get)).at(-1)?.parts.filter(isOwn)).toEqual([part]);
      expect(transient.filter(isOwn)).toEqual([{ type: 'data-note', data: 'now', transient: true }]);
    },
  );

  it('[T42] reaches a client of the own socket of the AI SDK', async () => {
    const tool = working((context) => {
      context.data('note', 'hello');
      return 'done';
    });
    const { served } = await live(SCRIPT, [tool], { data });
    const socket = new WebSocket(`${served.url.replace('http', 'ws')}/ws`);
    const chunks: Chunk[] = [];
    const ended = new Promise<void>((resolve) => {
      socket.on('message', (json) => {
        const frame = JSON.parse(String(json)) as { type: string; chunk?: Chunk };
        if (frame.chunk) chunks.push(frame.chunk);
        if (frame.type === 'end') resolve();
      });
    });
    await new Promise((resolve) => socket.once('open', resolve));
    socket.send(JSON.stringify({ type: 'send', requestId: 'q', ...say('go'), headers: {}, body: {} }));
    await ended;
    socket.close();
    expect(own(chunks)).toEqual([{ type: 'data-note', data: 'hello' }]);
  });

  it('[T42c] stays in a message whose approval is answered after a restart, and the part can be replaced then', async () => {
    const store = createMemoryStore();
    const draw = (value: string) =>
      working((context) => {
        context.data('note', value, { id: 'n' });
        return 'done';
      });
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      needsApproval: true,
      execute: (_args, context) => {
        context.data('note', 'paid', { id: 'n' });
        return 'paid';
      },
    });
    const both: ScriptedTurn[] = [[call('work', {}, CALL)], [call('pay', {}, 'call-pay')]];
    const asked = await harness(both, [draw('drawn'), pay], { data, store }).post(say('go'));
    expect(own(asked.chunks)).toEqual([{ type: 'data-note', id: 'n', data: 'drawn' }]);
    const next = harness([[text('Done.')]], [draw('drawn'), pay], { data, store });
    expect((await messages(next.get)).at(-1)?.parts.filter(isOwn)).toEqual(own(asked.chunks));
    await answers(next, asked, approve());
    expect((await messages(next.get)).at(-1)?.parts.filter(isOwn)).toEqual([
      { type: 'data-note', id: 'n', data: 'paid' },
    ]);
  });

  it('[T42c] is in the log for a client that comes back, and in the messages of the next process', async () => {
    const store = createMemoryStore();
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    let sent = (): void => undefined;
    const isSent = new Promise<void>((resolve) => {
      sent = resolve;
    });
    const tool = working(async (context) => {
      context.data('note', 'half', { id: 'n' });
      sent();
      await opened;
      return 'done';
    });
    const { duologue, post } = harness(SCRIPT, [tool], { data, store, clock: new ManualClock() });
    const posted = post(say('go'));
    await isSent;
    const again = duologue.fetch(new Request('http://localhost/stream/chat-1/stream'));
    open();
    const first: Posted = await posted;
    expect(own((await read(await again)).chunks)).toEqual(own(first.chunks));
    const next = harness([], [tool], { data, store });
    expect((await messages(next.get)).at(-1)?.parts.filter(isOwn)).toEqual([
      { type: 'data-note', id: 'n', data: 'half' },
    ]);
  });

  it('[T42c] of a tool whose call is shown late, because a callback may change it, comes with its outcome', async () => {
    const tool = working(
      (context) => {
        context.data('note', 'soon');
        return 'done';
      },
      { needsApproval: () => false },
    );
    const agent = new LlmAgent({
      name: 'assistant',
      model: new ScriptedModel(SCRIPT),
      tools: [tool],
      beforeToolCallback: () => undefined,
    });
    const { post } = harness([], [], { agent, data });
    const { chunks } = await post(say('go'));
    const types = chunks.map(({ type }) => type as string);
    expect(own(chunks)).toHaveLength(1);
    expect(types.indexOf('data-note')).toBeLessThan(types.indexOf('tool-output-available'));
    expect(faults('sse', chunks)).toEqual([]);
  });

  it.each([
    ['image', z.string(), 'the protocol has a chunk of that name'],
    ['session', z.string(), 'the protocol has a chunk of that name'],
    ['a b', z.string(), 'a name has letters'],
    ['chart', {}, 'follows Standard Schema'],
    ['chart', null, 'follows Standard Schema'],
  ])('[T42a] is refused at start with the name %s', (name, schema, why) => {
    expect(() => harness([], [], { data: { [name]: schema } as never })).toThrow(why);
  });

  it('is refused at start when a tool names data that the server does not declare', () => {
    const tool = defineTool({
      name: 'work',
      description: 'Works.',
      data,
      execute: (_args, context) => context.data('note', 'typed'),
    });
    expect(() => harness([], [tool], { data: { note: data.note } })).toThrow(
      'The tool "work" sends the data "chart", which the option "data" does not declare.',
    );
    harness([], [tool], { data });
  });

  it('whose schema validates asynchronously is not sent, and says so', async () => {
    const warnings: string[] = [];
    const logger = { info() {}, warn: (message: string) => void warnings.push(message), error() {} };
    const slow = { '~standard': { validate: (value: unknown) => Promise.resolve({ value }) } };
    const tool = working((context) => {
      context.data('note', 'x');
      return 'done';
    });
    const { chunks } = await harness(SCRIPT, [tool], { data: { note: slow }, logger }).post(say('go'));
    expect(own(chunks)).toEqual([]);
    expect(warnings.join()).toContain('its schema validates asynchronously');
  });
});
