import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AgentTool, LlmAgent } from '@google/adk';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { defineTool, type ToolContext } from '../../src/adk/index.ts';
import { DuologueTransport } from '../../src/client/index.ts';
import { Grammar, type GrammarMode, type Message } from '../../src/protocol/index.ts';
import { nodeListener } from '../../src/server/adapters/node.ts';
import { createMemoryStore, type DuologueOptions } from '../../src/server/index.ts';
import { ManualClock } from '../support/clock.ts';
import { type Harness, harness, say } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import { MemoryHub, SharedMemory } from '../support/memory-hub.ts';
import { MemoryDatabase } from '../support/memory-nodes.ts';
import { call, ScriptedModel, type ScriptedTurn, text } from '../support/scripted-model.ts';
import { answers, approve } from './support/answers.ts';

const CALL = 'call-work';
const SCRIPT: ScriptedTurn[] = [[call('work', {}, CALL)], [text('Done.')]];

/** What a tool learned of the circumstances of its call. */
const factsOf = ({ user, decidedBy, metadata, request }: ToolContext) => ({
  user,
  decidedBy,
  metadata,
  request,
});
type Facts = ReturnType<typeof factsOf>;

/** A tool that notes what it learns. */
function noting(seen: Facts[], extra: object = {}) {
  const about = { name: 'work', description: 'Works.', parameters: z.object({}), ...extra };
  return defineTool({
    ...about,
    execute: (_args, context) => {
      seen.push(factsOf(context));
      return 'done';
    },
  });
}

/** A message with metadata, and further fields of the body. */
const message = (metadata: object | undefined, fields: object = {}, id = 'm1') => ({
  ...say('go'),
  messages: [{ id, role: 'user', metadata, parts: [{ type: 'text', text: 'go' }] }],
  ...fields,
});

const asAnn: Partial<DuologueOptions> = { authenticate: () => ({ user: 'ann', token: 'SECRET-TOKEN' }) };
const passing: Partial<DuologueOptions> = {
  toolRequest: { headers: ['X-Tenant', 'accept-language'], body: ['theme'] },
};

async function stored({ get }: Pick<Harness, 'get'>): Promise<Message[]> {
  return ((await (await get('/sessions/chat-1')).json()) as { messages: Message[] }).messages;
}

describe.each([
  ['over SSE', 'sse', {}],
  ['over BIDI, driven live', 'bidi', { driver: 'live' }],
  ['over BIDI, driven turn by turn', 'bidi', { driver: 'turn' }],
] as [string, GrammarMode, Partial<DuologueOptions>][])(
  'the context of a tool %s',
  (_name, mode, options) => {
    /** Plays a conversation in which the tool runs, after an approval if it asks. */
    async function play(
      tool: ReturnType<typeof noting>,
      given: { body: object; headers?: Record<string, string>; asks?: boolean; script?: ScriptedTurn[] },
      more: Partial<DuologueOptions> = {},
    ) {
      const { body, headers = {}, asks = false, script = SCRIPT } = given;
      const all = { ...asAnn, ...options, ...more };
      if (mode === 'sse') {
        const made = harness(script, [tool], all);
        const first = await made.post(body, headers);
        const rest = asks
          ? await answers(
              { post: (answer) => made.post({ ...(answer as object), theme: 'dark' }, headers) },
              first,
              approve(),
            )
          : { chunks: [] };
        return { chunks: [...first.chunks, ...rest.chunks], messages: await stored(made) };
      }
      const made = await live(script, [tool], all);
      const socket = await made.connect('?session=chat-1', { headers });
      socket.send('message', body);
      if (asks) {
        const request = await socket.chunk('tool-approval-request');
        socket.send('message', { ...decision(request), theme: 'dark' });
      }
      await socket.done();
      return { chunks: socket.chunks, messages: await stored(made) };
    }

    it('[C18b] has the metadata of the user message, without the fields of the server', async () => {
      const seen: Facts[] = [];
      const body = message({ page: 'cart', items: [1], createdAt: 7 });
      await play(noting(seen), { body });
      expect(seen).toEqual([
        { user: 'ann', decidedBy: null, metadata: { page: 'cart', items: [1] }, request: null },
      ]);
    });

    it('has empty metadata and no request unless the page and the application give some', async () => {
      const seen: Facts[] = [];
      await play(noting(seen), {
        body: message(undefined, { theme: 'light' }),
        headers: { 'x-tenant': 't1' },
      });
      expect(seen).toEqual([{ user: 'ann', decidedBy: null, metadata: {}, request: null }]);
    });

    it('[T45] has the headers and body fields that the application lets through, and no others', async () => {
      const seen: Facts[] = [];
      const headers = { 'x-tenant': 't1', 'x-secret': 's', cookie: 'id=1' };
      const body = message(undefined, { theme: 'light', other: 1 });
      await play(noting(seen), { body, headers }, passing);
      expect(seen[0]?.request).toEqual({ headers: { 'x-tenant': 't1' }, body: { theme: 'light' } });
    });

    it('[T45] has the user who approved, without the token, and the request of the approval', async () => {
      const seen: Facts[] = [];
      const given = {
        body: message({ page: 'cart' }, { theme: 'light' }),
        headers: { 'x-tenant': 't1' },
        asks: true,
      };
      await play(noting(seen, { needsApproval: true }), given, passing);
      expect(seen).toEqual([
        {
          user: 'ann',
          decidedBy: { user: 'ann' },
          metadata: { page: 'cart' },
          request: { headers: { 'x-tenant': 't1' }, body: { theme: 'dark' } },
        },
      ]);
      expect(JSON.stringify(seen)).not.toContain('SECRET-TOKEN');
    });

    it('[T44] sets metadata of the message, merged, on the page and in the store', async () => {
      const tool = defineTool({
        name: 'work',
        description: 'Works.',
        execute: (_args, context) => {
          context.setMessageMetadata({ sources: { count: 1, names: ['a'] } });
          context.setMessageMetadata({ sources: { count: 2 }, tone: 'dry' });
          return 'done';
        },
      }) as ReturnType<typeof noting>;
      const { chunks, messages } = await play(tool, { body: message(undefined) });
      const grammar = new Grammar(mode);
      expect(chunks.flatMap((chunk) => grammar.push(chunk))).toEqual([]);
      const metadata = { sources: { count: 2, names: ['a'] }, tone: 'dry' };
      expect(messages.at(-1)?.metadata).toMatchObject(metadata);
      const types = chunks.map(({ type }) => type);
      expect(types.indexOf('message-metadata')).toBeLessThan(types.indexOf('tool-output-available'));
    });

    it('[T44a] sends no metadata that the server writes, is too large or no JSON; says so, and the call has its output', async () => {
      const warnings: string[] = [];
      const logger = {
        info() {},
        warn: (text: string) => void (text.includes('"work"') && warnings.push(text)),
        error() {},
      };
      const bad: object[] = [{ usage: null, tone: 'dry' }, { x: 'y'.repeat(17_000) }, { n: 1n }];
      for (const fields of bad) {
        const tool = defineTool({
          name: 'work',
          description: 'Works.',
          execute: (_args, context) => {
            context.setMessageMetadata(fields as Record<string, unknown>);
            return 'done';
          },
        }) as ReturnType<typeof noting>;
        const { chunks, messages } = await play(tool, { body: message(undefined) }, { logger });
        expect(chunks.some(({ type }) => type === 'message-metadata')).toBe(false);
        expect(chunks).toContainEqual({ type: 'tool-output-available', toolCallId: CALL, output: 'done' });
        expect(messages.at(-1)?.metadata).not.toHaveProperty('tone');
      }
      expect(warnings).toEqual([
        'metadata of the tool "work" is not shown: tools cannot set usage, which the server writes',
        'metadata of the tool "work" is not shown: the metadata of a call may have at most 16384 bytes, but it has 17008',
        'metadata of the tool "work" is not shown: Do not know how to serialize a BigInt',
      ]);
    });
  },
);

/** A store or a hub, with everything that was given to it, as JSON. */
function recorded<T extends object>(engine: T): { engine: T; written: () => string } {
  const all: unknown[] = [];
  const proxy = new Proxy(engine, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        all.push([name, args]);
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  return { engine: proxy, written: () => JSON.stringify(all) };
}

describe('the request of a call', () => {
  it('[T45a] reaches neither store, hub nor log, and no chunk, nor does the token of the user', async () => {
    const seen: Facts[] = [];
    const lines: unknown[] = [];
    const log = (...args: unknown[]) => void lines.push(args);
    const store = recorded(createMemoryStore());
    const hub = recorded(new MemoryHub(new SharedMemory()));
    const made = harness(SCRIPT, [noting(seen, { needsApproval: true })], {
      ...asAnn,
      ...passing,
      store: store.engine,
      hub: hub.engine,
      logger: { info: log, warn: log, error: log },
    });
    const headers = { 'x-tenant': 'SECRET-HEADER' };
    const first = await made.post(message({ page: 'cart' }, { theme: 'SECRET-FIELD' }), headers);
    const post = (body: unknown) => made.post({ ...(body as object), theme: 'SECRET-FIELD' }, headers);
    const second = await answers({ post }, first, approve());
    expect(seen[0]?.request).toEqual({
      headers: { 'x-tenant': 'SECRET-HEADER' },
      body: { theme: 'SECRET-FIELD' },
    });
    expect(store.written()).toContain('cart');
    expect(hub.written()).toContain('Done.');
    const everything = store.written() + hub.written() + JSON.stringify([lines, first.chunks, second.chunks]);
    expect(everything).not.toContain('SECRET');
  });

  it('[T45a] is absent for an approved call that runs after a restart, which knows user, decider and metadata', async () => {
    const store = createMemoryStore();
    const first = harness(SCRIPT, [noting([], { needsApproval: true })], { ...asAnn, ...passing, store });
    const asked = await first.post(message({ page: 'cart' }, { theme: 'light' }), { 'x-tenant': 't1' });
    // The process stops after it has stored the approval, and before the tool starts.
    const key = { app: 'duologue', user: 'ann', id: 'chat-1' };
    const [record] = await store.openCalls({ ...key, fence: 0 } as never);
    const line = {
      kind: 'approved' as const,
      approvalId: record?.approvalId ?? null,
      toolCallId: CALL,
      toolName: 'work',
      argsHash: record?.argsHash ?? null,
      args: {},
      reason: null,
      by: { application: 'desk', person: 'bea' },
    };
    await store.decideCall(key, { id: CALL, to: 'approved', reason: null }, line);
    expect(asked.chunks.some(({ type }) => type === 'tool-approval-request')).toBe(true);
    const seen: Facts[] = [];
    const next = await live([[text('Done.')]], [noting(seen, { needsApproval: true })], {
      ...asAnn,
      ...passing,
      store,
    });
    const socket = await next.connect('?session=chat-1', { headers: { 'x-tenant': 't1' } });
    await socket.until(() => seen.length > 0, 'the run of the tool');
    expect(seen).toEqual([
      {
        user: 'ann',
        decidedBy: { person: 'bea', application: 'desk' },
        metadata: { page: 'cart' },
        request: null,
      },
    ]);
  });

  it('is absent when the application started the turn, and its decision names application and person', async () => {
    const seen: Facts[] = [];
    const { duologue } = harness(SCRIPT, [noting(seen, { needsApproval: true })], { ...asAnn, ...passing });
    await duologue.send({ user: 'ann', id: 'chat-1' }, 'go');
    await expect
      .poll(async () => (await duologue.sessions.list({ user: 'ann' })).sessions[0]?.isWaiting)
      .toBe(true);
    const { approvals } = await duologue.sessions.export({ user: 'ann', id: 'chat-1' }, 'json');
    const approvalId = approvals[0]?.approvalId ?? '';
    await duologue.decide({ approvalId, approved: true, by: 'bea' });
    await expect
      .poll(() => seen)
      .toEqual([
        { user: 'ann', decidedBy: { person: 'bea', application: 'duologue' }, metadata: {}, request: null },
      ]);
  });

  it('[T45] has the fields that the AI SDK sends in `body` over its own socket, and headers of the handshake alone', async () => {
    const seen: Facts[] = [];
    const { served } = await live(SCRIPT, [noting(seen)], { ...asAnn, ...passing });
    const socket = new WebSocket(`${served.url.replace('http', 'ws')}/ws`, { headers: { 'x-tenant': 't1' } });
    const ended = new Promise<void>((resolve) => {
      socket.on('message', (data) => {
        if ((JSON.parse(String(data)) as { type: string }).type === 'end') resolve();
      });
    });
    await new Promise((resolve) => socket.once('open', resolve));
    const frame = { type: 'send', requestId: 'q', ...message({ page: 'cart' }), messageId: undefined };
    socket.send(
      JSON.stringify({ ...frame, headers: { 'x-tenant': 'forged' }, body: { theme: 'light', id: 'x' } }),
    );
    await ended;
    socket.close();
    expect(seen).toEqual([
      {
        user: 'ann',
        decidedBy: null,
        metadata: { page: 'cart' },
        request: { headers: { 'x-tenant': 't1' }, body: { theme: 'light' } },
      },
    ]);
  });

  it('[T45] has the `body` of our transport over a socket', async () => {
    const seen: Facts[] = [];
    const { url } = await live(SCRIPT, [noting(seen)], { ...asAnn, ...passing });
    const transport = new DuologueTransport({
      url: url.replace(/\/live$/, ''),
      WebSocket: WebSocket as never,
    });
    const stream = await transport.sendMessages({
      chatId: 'chat-1',
      messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'go' }] }],
      trigger: 'submit-message',
      messageId: undefined,
      abortSignal: undefined,
      body: { theme: 'light', messages: 'not these' },
    });
    for await (const _ of stream as unknown as AsyncIterable<unknown>) {
      // The response ends when the turn does.
    }
    transport.close();
    expect(seen[0]?.request).toEqual({ headers: {}, body: { theme: 'light' } });
  });

  it('[T45] is complete at the owner when another node got the request', async () => {
    const seen: Facts[] = [];
    const clock = new ManualClock();
    const database = new MemoryDatabase(clock);
    const start = async (script: ScriptedTurn[]): Promise<Harness> => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      const made = harness(script, [noting(seen)], {
        ...asAnn,
        ...passing,
        ...{ store: database.open(), clock, newId: randomUUID },
        node: { address: `http://127.0.0.1:${port}`, drainMs: 0 },
      });
      server.on('request', nodeListener(made.duologue));
      onTestFinished(async () => {
        await made.duologue.close();
        server.closeAllConnections();
        server.close();
      });
      return made;
    };
    const owner = await start([[text('Hello.')], ...SCRIPT]);
    const other = await start([]);
    await owner.post(message(undefined, {}, 'm0'));
    await other.post(message({ page: 'cart' }, { theme: 'light' }), { 'x-tenant': 't1' });
    expect(seen).toEqual([
      {
        user: 'ann',
        decidedBy: null,
        metadata: { page: 'cart' },
        request: { headers: { 'x-tenant': 't1' }, body: { theme: 'light' } },
      },
    ]);
  });

  it.each([
    [{ body: ['messages'] }, 'a list of names of fields that the protocol does not use'],
    [{ body: ['requestId'] }, 'a list of names of fields that the protocol does not use'],
    [{ headers: ['not a name'] }, 'a list of names of headers'],
    [{ header: [] }, 'without "header"'],
  ])('is refused at start with the option %j', (toolRequest, why) => {
    expect(() => harness([], [], { toolRequest: toolRequest as never })).toThrow(why);
  });
});

describe('a tool inside an agent that is used as a tool', () => {
  /** Starts a conversation with a tool inside such an agent. Returns the facts that the tool got, and what it sent. */
  function inside(needsApproval: boolean) {
    const seen: Facts[] = [];
    const inner = defineTool({
      name: 'inner_work',
      description: 'Works.',
      needsApproval,
      execute: (_args, context) => {
        seen.push(factsOf(context));
        context.progress(1);
        context.data('note', 'x');
        context.setMessageMetadata({ tone: 'dry' });
        return 'done';
      },
    });
    const expert = new LlmAgent({
      name: 'expert',
      description: 'Knows.',
      model: new ScriptedModel([[call('inner_work', {})], [text('It is done.')]]),
      tools: [inner],
    });
    const made = harness(
      [[call('expert', { request: 'x' })], [text('Done.')]],
      [new AgentTool({ agent: expert })],
      { ...asAnn, ...passing, data: { note: z.string() }, clock: new ManualClock() },
    );
    const sentIn = (chunks: readonly { type: string }[]) =>
      chunks.map(({ type }) => type).filter((type) => type === 'data-note' || type === 'message-metadata');
    return { made, seen, sentIn };
  }

  it('has the user, and neither metadata nor a request; what it sends does nothing', async () => {
    const { made, seen, sentIn } = inside(false);
    const { chunks } = await made.post(message({ page: 'cart' }, { theme: 'light' }));
    expect(seen).toEqual([{ user: 'ann', decidedBy: null, metadata: {}, request: null }]);
    expect(sentIn(chunks)).toEqual([]);
  });

  it('has everything, and sends, when its call waited for an approval', async () => {
    const { made, seen, sentIn } = inside(true);
    const first = await made.post(message({ page: 'cart' }, { theme: 'light' }));
    const post = (answer: unknown) => made.post({ ...(answer as object), theme: 'dark' });
    const { chunks } = await answers({ post }, first, approve());
    const request = { headers: {}, body: { theme: 'dark' } };
    expect(seen).toEqual([{ user: 'ann', decidedBy: { user: 'ann' }, metadata: { page: 'cart' }, request }]);
    expect(sentIn(chunks)).toEqual(['data-note', 'message-metadata']);
  });
});
