import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CHUNK_TYPES,
  type Chunk,
  Grammar,
  type GrammarMode,
  type Message,
  MessageFold,
} from '../../src/protocol/index.ts';
import { sdks } from '../support/sdks.ts';
import { scriptedChat } from './support/chat.ts';
import { type Act, conversation } from './support/conversation.ts';
import { buildWith, decided, plain } from './support/sdk.ts';

const empty = (): Message => ({ id: 'm1', role: 'assistant', parts: [] });

/** The steps around approval requests in BIDI are for transports; neither a session nor a client keeps them. */
const kept = (mode: GrammarMode) => (chunk: Chunk) => mode === 'sse' || !chunk.type.endsWith('-step');

function fold(message: Message, chunks: Chunk[]): Message {
  const folding = new MessageFold(message);
  for (const chunk of chunks) folding.push(chunk);
  return plain(folding.message);
}

describe.each(['sse', 'bidi'] as const)('a message of %s', (mode) => {
  const acts = conversation(mode);

  test.each(sdks)(
    '[C11] [C11d] is what the client of ai %s builds, whatever the chunks',
    async (_version, sdk) => {
      await fc.assert(
        fc.asyncProperty(acts, async (story) => {
          let theirs = empty();
          const ours = new MessageFold(empty());
          for (const act of story) {
            if (act.kind === 'decision') {
              theirs = decided(theirs, act.toolCallId, act.approved, act.reason || undefined);
              ours.decide(act.toolCallId, act.approved, act.reason);
            } else {
              const chunks = act.chunks.filter(kept(mode));
              theirs = await buildWith(sdk, theirs, chunks);
              for (const chunk of chunks) ours.push(chunk);
            }
            expect(plain(ours.message)).toEqual(theirs);
          }
        }),
        { numRuns: 100 },
      );
    },
  );

  test('is told here with every chunk that it can have', () => {
    const reported = new Set(
      fc.sample(acts, { numRuns: 300, seed: 1 }).flatMap((story) => chunksOf(story).map(({ type }) => type)),
    );
    const expected = CHUNK_TYPES.filter(
      (type) => type !== 'error' && (mode === 'bidi' || type !== 'finish-step'),
    );
    expect(expected.filter((type) => !reported.has(type))).toEqual([]);
  });

  test('[C11] is the same when it is taken up again after any response', () => {
    fc.assert(
      fc.property(acts, (story) => {
        const whole = new MessageFold(empty());
        let again = empty();
        for (const act of story) {
          const next = new MessageFold(again);
          for (const target of [whole, next]) {
            if (act.kind === 'decision') target.decide(act.toolCallId, act.approved, act.reason);
            else for (const chunk of act.chunks.filter(kept(mode))) target.push(chunk);
          }
          again = plain(next.message);
        }
        expect(again).toEqual(plain(whole.message));
      }),
    );
  });

  test('[C6] [C7] [C8] [C9] comes from chunks that the grammar accepts', () => {
    fc.assert(
      fc.property(acts, (story) => {
        const grammar = new Grammar(mode);
        const wrong = chunksOf(story).flatMap((chunk) => grammar.push(chunk));
        expect([...wrong, ...grammar.end()]).toEqual([]);
      }),
    );
  });

  test('[C6] [C7] [C9] is not accepted any more when a chunk that others need is lost', () => {
    const needed = /^(start|text-start|reasoning-start|tool-input-start|finish)$/;
    fc.assert(
      fc.property(acts, fc.nat(), (story, seed) => {
        const chunks = chunksOf(story);
        const at = chunks.findIndex(
          (chunk, index) => index >= seed % (chunks.length + 1) && needed.test(chunk.type),
        );
        const lost = chunks[at];
        // A call without another chunk may go unnoticed, and so may one finish of several.
        const others = chunks.filter((chunk) => chunk !== lost && lost && sameThing(chunk, lost));
        fc.pre(lost !== undefined && (lost.type !== 'tool-input-start' || others.length > 0));
        fc.pre(lost?.type !== 'finish' || at === chunks.length - 1);
        fc.pre(lost?.type !== 'start' || chunks.slice(at + 1).some((chunk) => !('transient' in chunk)));
        const grammar = new Grammar(mode);
        const wrong = chunks.filter((_, index) => index !== at).flatMap((chunk) => grammar.push(chunk));
        expect([...wrong, ...grammar.end()]).not.toEqual([]);
      }),
    );
  });
});

describe.each(sdks)('the chat of ai %s', (_version, sdk) => {
  const call = { toolCallId: 'c1', toolName: 'process_payment' };
  const toolMetadata = { runsOn: 'server', asks: true };
  const asked: Chunk[] = [
    { type: 'start', messageId: 'm1', messageMetadata: { createdAt: 1 } },
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: 'One moment.' },
    { type: 'text-end', id: '0' },
    { type: 'tool-input-start', ...call, toolMetadata },
    { type: 'tool-input-available', ...call, toolMetadata, input: { amount: 50 } },
    {
      type: 'tool-approval-request',
      toolCallId: 'c1',
      approvalId: 'a1',
      approvalDescriptor: { expiresAt: 9 },
    },
    { type: 'finish', finishReason: 'tool-calls' },
  ];
  const answered = (settled: Chunk): Chunk[] => [
    { type: 'start', messageId: 'm1' },
    settled,
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: 'Done.' },
    { type: 'text-end', id: '1' },
    { type: 'finish', finishReason: 'stop', messageMetadata: { modelVersion: 'rules-1' } },
  ];

  test.each<[string, boolean, Chunk]>([
    ['an approval', true, { type: 'tool-output-available', toolCallId: 'c1', output: { ok: true } }],
    [
      'a denial',
      false,
      { type: 'tool-output-error', toolCallId: 'c1', errorText: 'User denied the tool call: hm' },
    ],
    ['a denial as a state of its own', false, { type: 'tool-output-denied', toolCallId: 'c1' }],
  ])(
    '[C11] [S4] [T16a] continues one message after %s, the one that the server stores',
    async (_what, approved, settled) => {
      const { chat, finished, requests } = scriptedChat(sdk, [asked, answered(settled)]);
      const ours = new MessageFold(empty());
      await chat.sendMessage({ text: 'Pay Hanako 50 dollars' });
      for (const chunk of asked) ours.push(chunk);
      expect(plain(chat.messages.at(-1))).toEqual(plain(ours.message));
      await chat.addToolApprovalResponse({ id: 'a1', approved, reason: 'hm' });
      await finished(2);
      ours.decide('c1', approved, 'hm');
      expect(plain(requests[1]?.at(-1))).toEqual(plain(ours.message));
      for (const chunk of answered(settled)) ours.push(chunk);
      expect(chat.messages.map((message) => message.role)).toEqual(['user', 'assistant']);
      expect(plain(chat.messages.at(-1))).toEqual(plain(ours.message));
      expect(requests.length).toBe(2);
    },
  );
});

function chunksOf(story: Act[]): Chunk[] {
  return story.flatMap((act) => (act.kind === 'response' ? act.chunks : []));
}

function sameThing(a: Chunk, b: Chunk): boolean {
  return 'toolCallId' in a && 'toolCallId' in b && a.toolCallId === b.toolCallId;
}

describe('a fold', () => {
  test('[C11a] replaces data of the same type and id, adds data without id, and keeps no transient data', () => {
    const code = (language: string, more: object = {}): Chunk => ({
      type: 'data-executable-code',
      data: { language, code: '' },
      ...more,
    });
    expect(
      fold(empty(), [
        code('a', { id: '1' }),
        code('b', { id: '' }),
        code('c'),
        code('d', { id: '1' }),
        code('e', { id: '' }),
        code('f'),
        code('g', { transient: true }),
      ]).parts,
    ).toEqual([code('d', { id: '1' }), code('e', { id: '' }), code('c'), code('f')]);
  });

  test('[C11b] merges metadata object by object and replaces everything else', () => {
    const merged = (...metadata: object[]) =>
      fold(
        empty(),
        metadata.map(
          (messageMetadata) => ({ type: 'message-metadata', messageMetadata }) as unknown as Chunk,
        ),
      ).metadata;
    const first = { createdAt: 1, usage: { input: 1, output: null }, citations: [{ uri: 'a' }] };
    expect(merged(first, { usage: { output: 2 }, citations: [] })).toEqual({
      createdAt: 1,
      usage: { input: 1, output: 2 },
      citations: [],
    });
    expect(merged(first, { usage: null, interrupted: true, createdAt: undefined })).toEqual({
      ...first,
      usage: null,
      interrupted: true,
    });
    expect(fold(empty(), [{ type: 'finish' }])).toEqual(empty());
  });

  test('[C11] passes over what belongs to nothing', () => {
    expect(
      fold(empty(), [
        { type: 'text-delta', id: 'x', delta: 'lost' },
        { type: 'text-end', id: 'x' },
        { type: 'tool-approval-request', toolCallId: 'x', approvalId: 'a' },
        { type: 'tool-output-available', toolCallId: 'x', output: 1 },
        { type: 'tool-output-error', toolCallId: 'x', errorText: 'e' },
        { type: 'tool-output-denied', toolCallId: 'x' },
        { type: 'error', errorText: 'boom' },
        { type: 'finish-step' },
      ]),
    ).toEqual(empty());
  });

  test('[T9] [C11c] the first decision stays, and none is written on a card that is not open', () => {
    const folding = new MessageFold(empty());
    folding.decide('c', true);
    folding.push({ type: 'tool-input-start', toolCallId: 'c', toolName: 'pay' });
    folding.push({ type: 'tool-input-available', toolCallId: 'c', toolName: 'pay', input: {} });
    folding.decide('c', true);
    folding.push({ type: 'tool-approval-request', toolCallId: 'c', approvalId: 'a' });
    folding.decide('c', false, 'too dear');
    folding.decide('c', true, 'or not');
    const part = {
      type: 'tool-pay',
      toolCallId: 'c',
      input: {},
      approval: { id: 'a', approved: false, reason: 'too dear' },
    };
    expect(plain(folding.message.parts)).toEqual([{ ...part, state: 'approval-responded' }]);
    folding.push({
      type: 'tool-output-error',
      toolCallId: 'c',
      errorText: 'User denied the tool call: too dear',
    });
    folding.decide('c', true);
    expect(plain(folding.message.parts)).toEqual([
      { ...part, state: 'output-error', errorText: 'User denied the tool call: too dear' },
    ]);
  });

  test('knows its calls, and which of them are open', () => {
    const folding = new MessageFold(empty());
    folding.push({ type: 'tool-input-start', toolCallId: 'c', toolName: 'pay' });
    expect([folding.knows('c'), folding.isOpen('c')]).toEqual([true, true]);
    folding.push({ type: 'tool-output-error', toolCallId: 'c', errorText: 'no' });
    expect([folding.knows('c'), folding.isOpen('c')]).toEqual([true, false]);
    expect([folding.knows('toString'), folding.isOpen('toString')]).toEqual([false, false]);
  });

  test('takes a delta without looking at the parts of the message', () => {
    let touched = 0;
    const parts: Message['parts'] = Array.from({ length: 1_000 }, () => ({ type: 'step-start' }));
    const watched = new Proxy(parts, {
      get(target, key) {
        touched += 1;
        return Reflect.get(target, key);
      },
    });
    const folding = new MessageFold({ id: 'm1', role: 'assistant', parts: watched });
    folding.push({ type: 'text-start', id: 't' });
    touched = 0;
    for (let i = 0; i < 1_000; i += 1) folding.push({ type: 'text-delta', id: 't', delta: 'x' });
    expect(touched).toBe(0);
    expect(parts.at(-1)).toEqual({ type: 'text', text: 'x'.repeat(1_000), state: 'streaming' });
  });
});
