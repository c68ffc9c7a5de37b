import { describe, expect, test } from 'vitest';
import { type Executors, ToolRunner } from '../../src/client/executors.ts';
import { ToolCalls } from '../../src/client/tool-calls.ts';
import { FakeTimers } from './support/time.ts';

const call = (id: string, toolName: string) => ({ id, toolName, input: { id } });

const runsOf = (executors: Executors, timers = new FakeTimers()) =>
  new ToolRunner({ executors, executorTimeoutMs: 1_000 }, timers);

describe('browser tools', () => {
  test('a call runs once, two calls of one tool are two calls', async () => {
    const seen: unknown[] = [];
    const runs = runsOf({ act: (input) => seen.push(input) });
    expect(
      await Promise.all([runs.run(call('1', 'act')), runs.run(call('1', 'act')), runs.run(call('2', 'act'))]),
    ).toEqual([{ output: 1 }, null, { output: 2 }]);
    expect([seen, runs.hasStarted('1'), runs.hasStarted('3')]).toEqual([
      [{ id: '1' }, { id: '2' }],
      true,
      false,
    ]);
  });

  test('a tool that is not there does not run, not even one that every object has', async () => {
    const runs = runsOf({});
    expect([new ToolCalls([]).runs('toString'), await runs.run(call('1', 'toString'))]).toEqual([
      false,
      null,
    ]);
  });

  test.each([
    ['nothing', () => undefined, { output: null }],
    ['an error', () => Promise.reject(new Error('no GPS')), { errorText: 'no GPS' }],
    [
      'an error without words',
      () => Promise.reject(new Error()),
      { errorText: 'The tool failed in the browser' },
    ],
    ['what cannot be sent', () => 1n, { errorText: 'Do not know how to serialize a BigInt' }],
    ['no error object', () => Promise.reject('odd'), { errorText: 'odd' }],
  ])('a tool that gives %s', async (_what, executor, result) => {
    const runs = runsOf({ act: executor });
    expect(await runs.run(call('1', 'act'))).toEqual(result);
  });

  test('a tool that takes too long fails, is told so, and leaves no timer', async () => {
    const timers = new FakeTimers();
    let signal: AbortSignal | undefined;
    const runs = runsOf(
      {
        act: (_input, context) => {
          signal = context.signal;
          return new Promise(() => undefined);
        },
      },
      timers,
    );
    const result = runs.run(call('1', 'act'));
    timers.advance(1_000);
    expect([await result, signal?.aborted, timers.pending]).toEqual([
      { errorText: 'Timeout waiting for act result' },
      true,
      0,
    ]);
  });

  test('a cancelled tool gives nothing', async () => {
    const timers = new FakeTimers();
    const runs = runsOf({ act: () => new Promise(() => undefined) }, timers);
    const results = [runs.run(call('1', 'act')), runs.run(call('2', 'act'))];
    runs.cancel('1');
    runs.cancel('none');
    runs.cancelAll();
    expect([await Promise.all(results), timers.pending]).toEqual([[null, null], 0]);
  });
});
