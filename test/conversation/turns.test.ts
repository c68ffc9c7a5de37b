import { expect, it } from 'vitest';
import type { FakeRun } from './bare/agent.ts';
import { type Setup, World } from './bare/world.ts';

/** A conversation with a live model whose user, over a socket, has just said something. */
function conversation(setup: Partial<Setup> = {}): { world: World; run: FakeRun } {
  const world = new World({ approvals: 'sequential', whenBusy: 'queue', isEager: true, ...setup });
  world.hasListener = true;
  world.push({ type: 'joined' });
  world.say('bidi');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  if (run.is === 'opening') run.open();
  return { world, run };
}

const wrongIn = ({ wrong, clientView }: World) => [...wrong, ...clientView.wrong, ...clientView.atRest()];

it('[B16] a message waits while the model responds to one of several answers to an earlier message', () => {
  const { world, run } = conversation();
  world.call(run, ['play', 'play']);
  run.defer();
  run.defer();
  run.complete();
  world.say('bidi');
  run.complete();
  const [first = '', second = ''] = world.clientView.calls.keys();
  world.answer('bidi', [{ kind: 'output', toolCallId: first, output: 'played' }]);
  const message = world.say('bidi');
  expect(message.is).toBe('waiting');
  run.complete();
  expect(message.is).toBe('begun');
  run.complete();
  world.answer('bidi', [{ kind: 'output', toolCallId: second, output: 'played' }]);
  run.complete();
  expect(wrongIn(world)).toEqual([]);
});

it('[C9] the end of a call that timed out is sent, though the server shuts down before the post that found it late starts', () => {
  const { world, run } = conversation();
  world.call(run, ['pay']);
  run.defer();
  run.complete();
  const post = world.say('sse');
  // The run that the post closes ends after the time of the call, and before the timer of the server.
  world.now += 31_000;
  world.isHeld = true;
  run.end(null);
  world.push({ type: 'shut-down' });
  world.isHeld = false;
  while (world.isWriting) world.finishWrite('no');
  expect(post.is).toBe('refused');
  expect(world.clientView.chunks).toContainEqual(
    expect.objectContaining({
      type: 'data-settled',
      data: expect.objectContaining({ errorText: 'Approval request timed out' }),
    }),
  );
  expect([...world.wrong, ...world.clientView.wrong]).toEqual([]);
});

it('[T18] an approval that comes while a posted message is about to start runs no tool', () => {
  const { world, run } = conversation();
  world.call(run, ['pay']);
  run.defer();
  run.complete();
  const [toolCallId = ''] = world.clientView.calls.keys();
  // The post waits for the end of the live run.
  const post = world.say('sse');
  expect([post.is, run.is]).toEqual(['waiting', 'closing']);
  world.answer('bidi', [{ kind: 'decision', toolCallId, approved: true }]);
  run.end(null);
  world.runs.at(-1)?.complete();
  expect(world.tools).toEqual([]);
  expect(world.requests.map(({ is }) => is)).toEqual(['begun', 'begun', 'refused']);
  expect(wrongIn(world)).toEqual([]);
});

it('[B2a] a message with the id of an answered one and other words is answered, and replaces that one', () => {
  const { world, run } = conversation();
  run.complete();
  const message = world.say('bidi', { again: 'm1', replaces: false });
  run.end(null);
  expect(world.ledger.kept).toContain(message.words);
  expect(world.clientView.chunks).toContainEqual(expect.objectContaining({ type: 'data-rewind' }));
  expect(world.runs.at(-1)?.owes).toBe(1);
  world.runs.at(-1)?.complete();
  expect(wrongIn(world)).toEqual([]);
});

it('[T5] the model gets no response to a call that it cancelled while the user was asked', () => {
  const { world, run } = conversation();
  world.call(run, ['pay']);
  run.defer();
  const [toolCallId = ''] = world.clientView.calls.keys();
  run.cancel(toolCallId);
  expect(run.responses).toEqual([]);
  expect(world.clientView.chunks).toContainEqual({
    type: 'tool-output-error',
    toolCallId,
    errorText: 'Cancelled by the agent',
  });
  run.complete();
  expect(wrongIn(world)).toEqual([]);
});

it('[T5] the model gets no response to a call that it cancelled while the call was being stored', () => {
  const { world, run } = conversation({ isEager: false });
  world.call(run, ['pay']);
  run.defer();
  run.cancel(run.waitsFor[0] ?? '');
  world.finishApart(true);
  expect(run.responses).toEqual([]);
  // Clients never saw the call.
  expect(world.clientView.calls.size).toBe(0);
  run.complete();
  expect(world.openCalls).toEqual([]);
  expect(wrongIn(world)).toEqual([]);
});
