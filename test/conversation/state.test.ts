import fc from 'fast-check';
import { expect, it } from 'vitest';
import { states } from './bare/play.ts';
import { World } from './bare/world.ts';

/** The same every time: untried orders belong to a search, not to a check. */
const SEEDS = [1, 2, 3];

it.each(SEEDS)(
  '[B6] [B13] [B14] [C6] [C7] [C9] [T10] [T12] [T17] [T22] the state alone keeps the rules, whatever happens to it, from seed %s',
  { timeout: 120_000 },
  (seed) => {
    fc.assert(states(120), { numRuns: 400, seed });
  },
);

it('[B6] a message that reaches a model which has just called something by itself is answered', () => {
  const world = new World({ approvals: 'sequential', whenBusy: 'queue', isEager: false });
  world.push({ type: 'joined' });
  world.isHeld = true;
  world.say('bidi');
  world.finishWrite('fault');
  const request = world.say('bidi');
  world.finishWrite('fault');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  run.open();
  world.call(run, ['weather']);
  world.isHeld = false;
  world.finishWrite('no');
  run.defer();
  expect([request.is, run.owes]).toEqual(['begun', 1]);
  // The model learns that the call did not run, so it waits for nothing.
  expect([run.waitsFor, world.line, world.tools]).toEqual([[], [], []]);
  run.complete();
  expect(world.clientView.atRest()).toEqual([]);
  expect(world.isBusy).toBe(false);
  // The message of the call ends, though not as interrupted, and the answer has its own.
  expect(world.clientView.chunks).toMatchObject([
    { type: 'finish', finishReason: 'stop' },
    { type: 'text-start' },
    { type: 'text-delta', delta: 'End.' },
    { type: 'text-end' },
    { type: 'finish', finishReason: 'stop' },
  ]);
  expect([...world.wrong, ...world.clientView.wrong]).toEqual([]);
});

it('[S10] what is posted while a message waits for the disk is answered, though nobody listens any more', () => {
  const world = new World({ approvals: 'sequential', whenBusy: 'queue', isEager: true });
  world.push({ type: 'joined' });
  world.say('bidi');
  world.say('bidi');
  world.isHeld = true;
  world.runs[0]?.complete();
  // The end of the answer, and then the message that waited.
  world.finishWrite('no');
  world.finishWrite('fault');
  world.isHeld = false;
  world.finishWrite('no');
  world.push({ type: 'left' });
  const post = world.say('sse');
  expect(post.is).toBe('waiting');
  world.pass(1_000);
  for (const run of world.runs) if (run.is === 'open') run.complete();
  for (const run of world.runs) if (run.is === 'closing') run.end(null);
  expect(post.is).toBe('begun');
});

it('[S8] a response that is stopped while its end is being written leaves no card open', () => {
  const world = new World({ approvals: 'sequential', whenBusy: 'queue', isEager: true });
  world.push({ type: 'joined' });
  world.say('sse');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  world.call(run, ['pay']);
  run.defer();
  world.isHeld = true;
  run.end(null);
  world.interrupt();
  world.isHeld = false;
  world.finishWrite('no');
  expect(world.openCalls).toEqual([]);
  expect([...world.clientView.wrong, ...world.clientView.atRest()]).toEqual([]);
});

it('[T9] answers that are posted wait for those that are being read', () => {
  const world = new World({ approvals: 'sequential', whenBusy: 'queue', isEager: false });
  world.push({ type: 'joined' });
  world.say('sse');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  world.call(run, ['pay']);
  run.defer();
  world.finishApart(true);
  run.end(null);
  const [[toolCallId] = ['']] = world.clientView.calls;
  for (const wire of ['bidi', 'sse'] as const)
    world.answer(wire, [{ kind: 'decision', toolCallId, approved: false }]);
  expect(world.questions).toHaveLength(1);
  world.signIn('signed-in');
  for (const one of world.runs) if (one.is === 'opening') one.open();
  world.runs.at(-1)?.complete();
  for (const one of world.runs) if (one.is === 'closing') one.end(null);
  world.signIn('signed-in');
  expect(world.requests.map(({ is }) => is)).toEqual(['begun', 'begun', 'refused']);
  expect([...world.wrong, ...world.clientView.wrong, ...world.clientView.atRest()]).toEqual([]);
});

it('[C9] a call that cannot be written down ends, though another run is open by then', () => {
  const world = new World({ approvals: 'sequential', whenBusy: 'queue', isEager: false });
  world.push({ type: 'joined' });
  world.say('sse');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  world.call(run, ['play', 'pay']);
  run.defer();
  run.defer();
  world.finishApart(true);
  run.end('It fell over.');
  world.pass(61_000);
  const [, next] = world.runs;
  next?.open();
  world.finishApart(false);
  next?.complete();
  expect([...world.clientView.wrong, ...world.clientView.atRest()]).toEqual([]);
});

it('[T18] a call of another message that ends with an interrupted response is told', () => {
  const world = new World({ driver: 'live', approvals: 'sequential', whenBusy: 'queue', isEager: true });
  world.push({ type: 'joined' });
  world.say('bidi');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  world.call(run, ['pay']);
  run.defer();
  run.complete();
  world.say('bidi');
  world.call(run, ['play']);
  run.defer();
  const [[toolCallId, { approvalId }] = ['', {}]] = world.clientView.calls;
  world.answer('sse', [
    { kind: 'decision', toolCallId, approved: true, ...(approvalId === undefined ? {} : { approvalId }) },
  ]);
  run.end(null);
  world.interrupt();
  expect(world.tools).toEqual([toolCallId]);
  expect([...world.clientView.wrong, ...world.clientView.atRest()]).toEqual([]);
  expect(world.clientView.chunks.filter(({ type }) => type === 'data-settled')).toHaveLength(1);
});

it('[B13] a browser call that is interrupted before it is announced opens its message no second time', () => {
  const world = new World({ driver: 'live', approvals: 'sequential', whenBusy: 'interrupt', isEager: true });
  world.push({ type: 'joined' });
  world.say('bidi');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  run.open();
  world.call(run, ['play', 'weather', 'pay']);
  run.defer();
  world.isHeld = true;
  run.defer();
  world.say('bidi');
  world.push({ type: 'joined' });
  world.isHeld = false;
  while (world.isWriting) world.finishWrite('no');
  while (world.apart.length > 0) world.finishApart(true);
  run.defer();
  expect([...world.wrong, ...world.clientView.wrong]).toEqual([]);
});

it('[B14] a state that was shut down does not wake up again and again for a call that was never announced', () => {
  const world = new World({ driver: 'turn', approvals: 'sequential', whenBusy: 'queue', isEager: false });
  world.hasListener = true;
  world.push({ type: 'joined' });
  world.say('bidi');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  world.call(run, ['play', 'pay']);
  run.defer();
  run.defer();
  world.finishApart(true);
  world.push({ type: 'shut-down' });
  expect(world.wakesAt).toBeNull();
});

it('[B25] answers that deny a call for the second time are acknowledged, though the first denial still waits for a run', () => {
  const world = new World({ driver: 'live', approvals: 'sequential', whenBusy: 'queue', isEager: false });
  world.push({ type: 'joined' });
  world.say('bidi');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  run.open();
  world.call(run, ['play', 'pay']);
  run.defer();
  run.defer();
  world.finishApart(true);
  world.finishApart(true);
  run.end('It fell over.');
  const [play = '', pay = ''] = [...world.clientView.calls.keys()].sort();
  const denial = { kind: 'decision' as const, toolCallId: pay, approved: false };
  world.answer('bidi', [denial]);
  world.signIn('signed-in');
  world.answer('bidi', [{ kind: 'output', toolCallId: play, output: 'played' }, denial]);
  world.signIn('signed-in');
  expect(world.requests.map(({ is, isAccepted }) => [is, isAccepted])).toEqual([
    ['begun', true],
    ['begun', true],
    ['begun', true],
  ]);
});

it('[C9] an approval that reaches the store too late ends its call as timed out, and the next message is answered', () => {
  const world = new World({ driver: 'live', approvals: 'sequential', whenBusy: 'queue', isEager: true });
  world.hasListener = true;
  world.push({ type: 'joined' });
  world.say('bidi');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  world.call(run, ['pay']);
  run.defer();
  const [[toolCallId] = ['']] = world.clientView.calls;
  world.isHeld = true;
  world.answer('bidi', [{ kind: 'decision', toolCallId, approved: true }]);
  world.pass(31_000);
  world.isHeld = false;
  world.finishWrite('no');
  run.complete();
  expect(world.requests.at(-1)?.is).toBe('refused');
  expect(world.clientView.chunks).toContainEqual({
    type: 'tool-output-error',
    toolCallId,
    errorText: 'Approval request timed out',
  });
  expect([...world.wrong, ...world.clientView.wrong, ...world.clientView.atRest()]).toEqual([]);
  expect(world.isBusy).toBe(false);
});

it('[B33] a message that comes while a long-running tool waits starts no second run beside one that has to end', () => {
  const world = new World({ driver: 'turn', approvals: 'sequential', whenBusy: 'queue', isEager: true });
  world.push({ type: 'joined' });
  world.say('bidi');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  world.call(run, ['pay']);
  run.defer();
  const [[toolCallId] = ['']] = world.clientView.calls;
  world.answer('bidi', [{ kind: 'decision', toolCallId, approved: true }]);
  world.endTool('waits');
  const next = world.say('bidi');
  expect(next.is).toBe('waiting');
  run.end(null);
  expect(next.is).toBe('begun');
  world.runs.at(-1)?.complete();
  expect(world.wrong).toEqual([]);
});

it('[C6] [E4] nothing is shown of an answer whose user message could not be stored, though another message was shown meanwhile', () => {
  const world = new World({ driver: 'live', approvals: 'sequential', whenBusy: 'queue', isEager: true });
  world.hasListener = true;
  world.push({ type: 'joined' });
  world.say('bidi');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  world.call(run, ['play']);
  run.defer();
  run.complete();
  world.isHeld = true;
  const message = world.say('bidi');
  // The first message is stored as it is, and then the user message is not.
  world.finishWrite('no');
  // The end of the browser call is shown in its own message, and then the model speaks.
  world.pass(61_000);
  run.words();
  world.finishWrite('fault');
  world.isHeld = false;
  while (world.isWriting) world.finishWrite('no');
  run.complete();
  expect(message.is).toBe('refused');
  expect([...world.wrong, ...world.clientView.wrong, ...world.clientView.atRest()]).toEqual([]);
});

it('[B22] an answer that starts while a write is slow has an end when the server shuts down', () => {
  const world = new World({ driver: 'live', approvals: 'sequential', whenBusy: 'queue', isEager: false });
  world.push({ type: 'joined' });
  world.push({ type: 'media', blob: { mimeType: 'audio/pcm', data: '' }, from: 'page' });
  world.isHeld = true;
  world.say('bidi');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  run.open();
  run.thought();
  world.push({ type: 'shut-down' });
  world.isHeld = false;
  world.finishWrite('no');
  expect(world.clientView.chunks).toContainEqual(
    expect.objectContaining({
      type: 'finish',
      messageMetadata: expect.objectContaining({ interrupted: true, cutOff: true }),
    }),
  );
  expect([...world.wrong, ...world.clientView.wrong]).toEqual([]);
});

it('[B33] a response that starts while an interrupted turn is brought to its end leaves the conversation free', () => {
  const world = new World({ driver: 'turn', approvals: 'sequential', whenBusy: 'queue', isEager: true });
  world.push({ type: 'joined' });
  world.say('bidi');
  const post = world.say('sse');
  world.isHeld = true;
  world.runs[0]?.end('It fell over.');
  world.interrupt();
  world.isHeld = false;
  world.finishWrite('no');
  const [, run] = world.runs;
  if (!run) throw new Error('The post opened no run.');
  expect(post.is).toBe('begun');
  world.call(run, ['play']);
  run.defer();
  run.end(null);
  const [[toolCallId] = ['']] = world.clientView.calls;
  world.answer('bidi', [{ kind: 'output', toolCallId, output: 'played' }]);
  world.runs.at(-1)?.complete();
  expect([...world.wrong, ...world.clientView.wrong, ...world.clientView.atRest()]).toEqual([]);
  expect(world.isBusy).toBe(false);
});

it('[E1] answers that wait for a slow store are limited: one too many is rejected as busy, and the others are read in their order', () => {
  const world = new World({ driver: 'live', approvals: 'sequential', whenBusy: 'queue', isEager: true });
  world.push({ type: 'joined' });
  world.say('bidi');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  world.call(run, ['pay']);
  run.defer();
  const [[toolCallId] = ['']] = world.clientView.calls;
  world.isHeld = true;
  for (let n = 0; n < 103; n++) world.answer('bidi', [{ kind: 'decision', toolCallId, approved: false }]);
  world.isHeld = false;
  world.finishWrite('no');
  const [, first, ...others] = world.requests;
  expect(first?.is).toBe('begun');
  expect(others.map(({ is }) => is)).not.toContain('waiting');
  expect(others.slice(100).map(({ error }) => error?.code)).toEqual(['busy', 'busy']);
  expect(others.slice(0, 100).map(({ error }) => error?.code)).not.toContain('busy');
});

it('[T21] [C9] a confirmation is closed, though the start of its call could not be stored at first', () => {
  const confirmations = 'tool' as const;
  const world = new World({ approvals: 'sequential', whenBusy: 'queue', isEager: true, confirmations });
  world.hasListener = true;
  world.push({ type: 'joined' });
  world.say('bidi');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  world.call(run, ['pay']);
  run.defer();
  const [[toolCallId] = ['']] = world.clientView.calls;
  world.isHeld = true;
  world.answer('bidi', [{ kind: 'output', toolCallId, output: { confirmed: true } }]);
  // The decision and the message are stored; the start of the call is not.
  world.finishWrite('no');
  world.finishWrite('no');
  world.finishWrite('fault');
  world.isHeld = false;
  while (world.isWriting) world.finishWrite('no');
  world.pass(1_000);
  world.endTool('output');
  run.complete();
  expect(world.clientView.chunks).toContainEqual({
    type: 'tool-output-available',
    toolCallId,
    output: { confirmed: true },
  });
  // The ledger of these tests knows a confirmation by its call alone.
  expect([...world.wrong, ...world.clientView.atRest()]).toEqual([]);
});

it.each(['bidi', 'sse'] as const)(
  '[B25] an answer over %s whose callbacks cannot start, because the start of its call could not be stored, is rejected',
  (wire) => {
    const world = new World({ approvals: 'sequential', whenBusy: 'queue', isEager: true, callsBack: true });
    world.hasListener = true;
    world.push({ type: 'joined' });
    world.say('sse');
    const [run] = world.runs;
    if (!run) throw new Error('No run was opened.');
    world.call(run, ['locate']);
    run.defer();
    run.end(null);
    const [[toolCallId] = ['']] = world.clientView.calls;
    world.failingKind = 'take';
    world.answer(wire, [
      { kind: 'decision', toolCallId, approved: true },
      { kind: 'output', toolCallId, output: 'here' },
    ]);
    expect(world.requests.at(-1)).toMatchObject({ is: 'refused', error: { code: 'internal' } });
    expect(world.callbacks).toEqual([]);
    expect(world.wrong).toEqual([]);
  },
);

it('[B25] a posted answer that is rejected after its response started leaves the call to the browser, and the message ends once', () => {
  const world = new World({ approvals: 'sequential', whenBusy: 'queue', isEager: true, callsBack: true });
  world.hasListener = true;
  world.push({ type: 'joined' });
  world.say('bidi');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  world.call(run, ['locate']);
  run.defer();
  const [[toolCallId] = ['']] = world.clientView.calls;
  const output = { kind: 'output', toolCallId, output: 'here' } as const;
  world.failingKind = 'take';
  world.answer('sse', [{ kind: 'decision', toolCallId, approved: true }, output]);
  run.end(null);
  // The start of the call is stored at the second try, so the browser can answer.
  world.answer('bidi', [output]);
  world.endCallbacks('output');
  world.runs.at(-1)?.complete();
  expect(world.requests.map(({ is }) => is)).toEqual(['begun', 'refused', 'begun']);
  const ends = world.clientView.chunks.flatMap((chunk) =>
    chunk.type === 'finish' ? [chunk.finishReason] : [],
  );
  expect(ends).toEqual(['tool-calls', 'stop']);
  expect([...world.wrong, ...world.clientView.wrong, ...world.clientView.atRest()]).toEqual([]);
  expect(world.isBusy).toBe(false);
});

it.each([
  ['live', 'cannot be read'],
  ['turn', 'cannot be read'],
  ['live', 'come from someone who is signed out'],
  ['turn', 'come from someone who is signed out'],
] as const)(
  '[C6] with the driver "%s" a message whose calls have timed out ends, though the posted answers that found them late %s',
  (driver, why) => {
    const isRead = why !== 'cannot be read';
    const world = new World({ driver, approvals: 'sequential', whenBusy: 'queue', isEager: !isRead });
    world.hasListener = true;
    world.push({ type: 'joined' });
    world.say('bidi');
    const [run] = world.runs;
    if (!run) throw new Error('No run was opened.');
    if (run.is === 'opening') run.open();
    world.call(run, ['play']);
    run.defer();
    if (isRead) world.finishApart(true);
    run.end(null);
    world.hasListener = false;
    world.push({ type: 'left' });
    world.pass(61_000);
    const [[toolCallId] = ['']] = world.clientView.calls;
    if (!isRead) world.failingKind = 'decide';
    world.answer('sse', [{ kind: 'decision', toolCallId, approved: true }]);
    if (isRead) world.signIn('signed-out');
    expect(world.requests.at(-1)?.is).toBe('refused');
    expect([...world.wrong, ...world.clientView.wrong, ...world.clientView.atRest()]).toEqual([]);
  },
);

it('[E1] a call that times out while posted answers are being read ends in their response, and opens no run of its own', () => {
  const world = new World({ driver: 'live', approvals: 'sequential', whenBusy: 'queue', isEager: false });
  world.push({ type: 'joined' });
  world.say('sse');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  world.call(run, ['play', 'choose']);
  run.defer();
  run.defer();
  world.finishApart(true);
  world.finishApart(true);
  run.end(null);
  const calls = Object.fromEntries(world.openCalls.map(({ toolName, id }) => [toolName, id]));
  const { play = '', choose = '' } = calls;
  world.answer('sse', [
    { kind: 'decision', toolCallId: play, approved: true },
    { kind: 'output', toolCallId: choose, output: 'blue' },
  ]);
  // The server looks up whether the user is still signed in.
  world.pass(61_000);
  expect(world.runs).toHaveLength(1);
  world.signIn('signed-in');
  expect(world.runs).toHaveLength(2);
  expect(world.clientView.chunks).toContainEqual({
    type: 'tool-output-error',
    toolCallId: play,
    errorText: 'Timeout waiting for play result',
  });
  world.runs[1]?.complete();
  expect([...world.wrong, ...world.clientView.wrong, ...world.clientView.atRest()]).toEqual([]);
});

it.each<[string, (world: World) => void]>([
  ['the server shuts down', (world) => world.push({ type: 'shut-down' })],
  ['the user interrupts', (world) => world.interrupt()],
])('[T22] a tool that ran has its output, though %s while the output waits for a run', (_when, end) => {
  const world = new World({ driver: 'live', approvals: 'sequential', whenBusy: 'queue', isEager: false });
  world.push({ type: 'joined' });
  world.say('bidi');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  run.open();
  world.call(run, ['weather']);
  run.defer();
  world.finishApart(true);
  world.grant();
  run.end('It fell over.');
  world.endTool('output');
  expect(world.runs).toHaveLength(2);
  end(world);
  expect(world.clientView.chunks).toContainEqual(
    expect.objectContaining({ type: 'tool-output-available', output: 'done' }),
  );
  expect(world.openCalls).toEqual([]);
  expect([...world.wrong, ...world.clientView.wrong]).toEqual([]);
});

it('[B13] a message whose calls were answered while another was written, and after it, ends once when the run is closed', () => {
  const world = new World({ driver: 'live', approvals: 'sequential', whenBusy: 'queue', isEager: true });
  world.push({ type: 'joined' });
  world.say('bidi');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  const defer = () => {
    run.defer();
    world.finishApart(true);
  };
  const play = (toolCallId = '') => world.answer('bidi', [{ kind: 'output', toolCallId, output: 'played' }]);
  world.call(run, ['play', 'play']);
  defer();
  defer();
  const [first, second] = [...world.clientView.calls.keys()];
  world.say('bidi');
  play(first);
  world.call(run, ['locate', 'locate']);
  defer();
  play(second);
  defer();
  world.say('sse');
  run.end(null);
  world.runs.at(-1)?.complete();
  expect([...world.wrong, ...world.clientView.wrong, ...world.clientView.atRest()]).toEqual([]);
});

it('[B23] [S6a] a posted answer is continued in its response, though every client left long before', () => {
  const world = new World({ driver: 'live', approvals: 'sequential', whenBusy: 'queue', isEager: true });
  world.push({ type: 'joined' });
  world.push({ type: 'left' });
  world.pass(61_000);
  world.say('sse');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  world.call(run, ['pay']);
  run.defer();
  run.end(null);
  const [[toolCallId] = ['']] = world.clientView.calls;
  world.answer('sse', [{ kind: 'decision', toolCallId, approved: false }]);
  world.runs.at(-1)?.complete();
  world.runs.at(-1)?.end(null);
  const ends = world.clientView.chunks.flatMap((chunk) =>
    chunk.type === 'finish' ? [chunk.finishReason] : [],
  );
  expect(ends).toEqual(['tool-calls', 'stop']);
  expect([...world.wrong, ...world.clientView.wrong, ...world.clientView.atRest()]).toEqual([]);
});

it.each(['approved', 'denied'] as const)(
  '[T9] a decision that another process has stored in time counts when the time is up here: %s',
  (decision) => {
    const world = new World({ approvals: 'sequential', whenBusy: 'queue', isEager: true });
    world.hasListener = true;
    world.push({ type: 'joined' });
    world.say('bidi');
    const [run] = world.runs;
    if (!run) throw new Error('No run was opened.');
    world.call(run, ['pay']);
    run.defer();
    const [[toolCallId = ''] = []] = world.clientView.calls;
    world.ledger.decideElsewhere(toolCallId, decision);
    world.pass(31_000);
    expect(world.tools).toEqual(decision === 'approved' ? [toolCallId] : []);
    world.endTool('output');
    run.complete();
    expect(world.clientView.chunks).not.toContainEqual(
      expect.objectContaining({ errorText: 'Approval request timed out' }),
    );
    expect([...world.wrong, ...world.clientView.wrong, ...world.clientView.atRest()]).toEqual([]);
  },
);

it.each(['live', 'turn'] as const)(
  '[B33] a message after a text of the application is answered, with the driver %s',
  (driver) => {
    const world = new World({ driver, approvals: 'sequential', whenBusy: 'queue', isEager: true });
    world.push({ type: 'joined' });
    world.say('bidi');
    world.runs.at(-1)?.complete();
    world.speak();
    world.runs.at(0)?.end(null);
    expect(world.clientView.chunks).toContainEqual(expect.objectContaining({ delta: 'By the way.' }));
    const next = world.say('bidi');
    expect(next.is).toBe('begun');
    world.runs.at(-1)?.complete();
    expect(world.runs).toHaveLength(2);
    expect([...world.wrong, ...world.clientView.wrong, ...world.clientView.atRest()]).toEqual([]);
    expect(world.isBusy).toBe(false);
  },
);
