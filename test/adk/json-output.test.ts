import { FunctionTool, LlmAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import type { Chunk } from '../../src/protocol/index.ts';
import { harness, say } from '../support/harness.ts';
import { live } from '../support/live.ts';
import { call, ScriptedModel, text } from '../support/scripted-model.ts';

const circular: Record<string, unknown> = { name: 'loop' };
circular.self = circular;

type Callbacks = Partial<ConstructorParameters<typeof LlmAgent>[0]>;

/** Has an agent call a tool, and returns the end of the call as the person and the model get it. */
async function ended(way: 'SSE' | 'live' | 'turn', execute: () => unknown, callbacks: Callbacks = {}) {
  const tool = new FunctionTool({ name: 'count', description: 'Counts.', execute });
  const model = new ScriptedModel([[call('count', {}, 'call-1')], [text('Well.')]]);
  const agent = new LlmAgent({ name: 'assistant', model, tools: [tool], ...callbacks });
  let chunks: Chunk[] = [];
  if (way === 'SSE') chunks = (await harness([], [], { agent }).post(say('go'))).chunks;
  else {
    const socket = await (await live([], [], { agent, driver: way })).connect();
    socket.say('go');
    await socket.done();
    chunks = socket.chunks;
  }
  const end = chunks.find(({ type }) => type.startsWith('tool-output-'));
  const response = model.lastContents.flatMap(({ parts = [] }) =>
    parts.flatMap(({ functionResponse }) => functionResponse?.response ?? []),
  );
  return { end, response: response[0], texts: chunks.some(({ type }) => type === 'text-start') };
}

const failed = (error: string) => ({
  end: { type: 'tool-output-error', toolCallId: 'call-1', errorText: error },
  response: { error },
  texts: true,
});

describe.each(['SSE', 'live', 'turn'] as const)('an output that JSON has no form for: %s', (way) => {
  it('[T26a] a BigInt is sent as its digits', async () => {
    const output = { total: '9007199254740993', list: ['1'] };
    expect(await ended(way, () => ({ total: 9007199254740993n, list: [1n] }))).toEqual({
      end: { type: 'tool-output-available', toolCallId: 'call-1', output },
      response: output,
      texts: true,
    });
    expect(await ended(way, () => 5n)).toMatchObject({ end: { output: '5' }, response: { result: '5' } });
  });

  it('[T26] an object that contains itself is an error of that call alone', async () => {
    expect(await ended(way, () => circular)).toEqual(
      failed('count ran, but its output cannot be written as JSON.'),
    );
  });

  it('[T26] so is state that cannot be stored, and nothing of the call is stored', async () => {
    const set = (_args: unknown, context?: { state: { set(key: string, value: unknown): void } }) => {
      context?.state.set('loop', circular);
      return { done: true };
    };
    expect(await ended(way, set as () => unknown)).toEqual(
      failed('count ran, but the state that it changed cannot be written as JSON.'),
    );
  });

  it('[T26] so is what a callback returns', async () => {
    const error = failed('A callback gave a response for count that cannot be written as JSON.');
    expect(await ended(way, () => ({}), { afterToolCallback: () => circular })).toEqual(error);
    expect(await ended(way, () => ({}), { beforeToolCallback: () => circular })).toEqual(error);
  });
});
