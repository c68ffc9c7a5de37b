import { describe, expect, it } from 'vitest';
import type { Chunk, Message } from '../../src/protocol/index.ts';
import { EffectRunner, type EffectTargets } from '../../src/server/conversation/effect-runner.ts';
import type { ConversationState } from '../../src/server/conversation/state/conversation-state.ts';
import type { Effect, Purpose } from '../../src/server/conversation/state/effects.ts';
import type { Input } from '../../src/server/conversation/state/inputs.ts';
import type { Engine } from '../../src/server/engine.ts';
import { settled } from '../support/settled.ts';

const request = { id: 1, name: 'r1', connection: null };

const messageOf = (id: string): Message => ({ id, role: 'assistant', parts: [] });
const delta = (id: string): Chunk => ({ type: 'text-delta', id, delta: id });
const start = (id: string): Effect => ({ type: 'start', message: messageOf(id), isTurn: true });
const say = (id: string): Effect => ({ type: 'say', messageId: id, chunk: delta(id) });
const finish = (id: string): Effect => ({ type: 'finish', message: messageOf(id), chunks: [], isOver: true });

/** A runner of which the test gives the effects of each input, and ends each write. */
function runnerOf(effects: Effect[][]) {
  const sent: string[] = [];
  const inputs: Input['type'][] = [];
  const writes: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const state = {
    ...{ isResponding: false, isStarting: false, isBusy: true },
    apply: ({ type }: Input) => {
      inputs.push(type);
      return effects.shift() ?? [];
    },
  };
  const output = {
    begin: ({ id }: Message) => void sent.push(`start ${id}`),
    say: (chunk: Chunk) => void sent.push(chunk.type === 'text-delta' ? `say ${chunk.id}` : chunk.type),
    conclude: async ({ id }: Message) => void sent.push(`finish ${id}`),
  };
  const write = () => new Promise((resolve, reject) => writes.push({ resolve: () => resolve({}), reject }));
  const silent = () => undefined;
  const engine = {
    clock: { now: () => 0, elapsed: () => 0 },
    logger: { info: silent, warn: silent, error: silent },
  };
  const runner = new EffectRunner(
    {
      engine: engine as unknown as Engine,
      state: state as unknown as ConversationState,
      announced: [],
      logFields: () => ({}),
      onLost: silent,
    },
    () =>
      ({
        output,
        store: { write, storeImages: async () => undefined },
        requests: { clearAnswering: silent },
      }) as unknown as EffectTargets,
  );
  return { runner, sent, inputs, writes };
}

const input: Input = { type: 'time' };

describe('the effect runner', () => {
  const purpose: Purpose = {
    for: 'message',
    request,
    userMessageId: 'u1',
    messageId: 'a1',
    run: null,
    isStored: false,
  };
  const store: Effect = { type: 'store', writes: [], after: [start('a1'), say('a1')], failed: [], purpose };

  it('[T10] sends what depends on a write after it, and what came later after that', async () => {
    const { runner, sent, inputs, writes } = runnerOf([[store, finish('a1')]]);
    runner.apply(input);
    await settled();
    expect(sent).toEqual([]);
    writes[0]?.resolve();
    await settled();
    expect(sent).toEqual(['start a1', 'say a1', 'finish a1']);
    expect(inputs).toEqual(['time', 'stored']);
  });

  it('[C6] sends nothing of an answer whose user message could not be stored, even where another message is between', async () => {
    const later = [say('a1'), start('a2'), say('a2'), say('a1'), start('a1'), say('a1'), finish('a1')];
    const { runner, sent, inputs, writes } = runnerOf([[store, ...later]]);
    runner.apply(input);
    writes[0]?.reject(new Error('The disk is full.'));
    await settled();
    expect(sent).toEqual(['start a2', 'say a2']);
    expect(inputs).toEqual(['time', 'store-failed']);
  });

  it('[C6] sends text deltas behind the effects that wait for a write', async () => {
    const deltas: Effect = { type: 'say-deltas', messageId: 'a1', chunks: [delta('a1')] };
    const { runner, sent, writes } = runnerOf([[store], [deltas]]);
    runner.apply(input);
    runner.apply(input);
    expect(sent).toEqual([]);
    writes[0]?.resolve();
    await settled();
    expect(sent).toEqual(['start a1', 'say a1', 'say a1']);
  });
});
