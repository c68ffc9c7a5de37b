import fc from 'fast-check';
import { anything, goOn } from './commands.ts';
import { type Setup, World } from './world.ts';

/** Rounds after which a state that does not come to rest never will. */
const MAX_ROUNDS = 200;

/** States to which anything happens: each keeps every rule, or fails with its transcript. */
export function states(maxCommands: number): fc.IProperty<[Setup, Iterable<fc.Command<World, World>>]> {
  const setup: fc.Arbitrary<Setup> = fc.record({
    driver: fc.constantFrom('live', 'turn'),
    approvals: fc.constantFrom('sequential', 'parallel'),
    whenBusy: fc.constantFrom('queue', 'interrupt'),
    isEager: fc.boolean(),
    callsBack: fc.boolean(),
  });
  const commands = fc.commands([anything], { maxCommands, size: 'max' });
  return fc.property(setup, commands, (given, all) => {
    const world = new World(given);
    world.hasListener = true;
    world.push({ type: 'joined' });
    let thrown: unknown = null;
    try {
      fc.modelRun(() => ({ model: world, real: world }), all);
      world.wrong.push(...endingWell(world));
    } catch (error) {
      thrown = error;
    }
    const wrong = [
      ...world.wrong,
      ...world.clientView.wrong,
      ...(thrown ? [String((thrown as Error).stack)] : []),
    ];
    if (wrong.length === 0) return;
    throw new Error([...wrong, '', JSON.stringify(given), ...world.transcript].join('\n'));
  });
}

function endingWell(world: World): string[] {
  world.note('everything comes to rest');
  const unrest = bringToRest(world);
  if (unrest) return [`[B13] ${unrest}`];
  const wrong = atRest(world);
  if (world.isClosed || wrong.length > 0) return wrong;
  world.note('the person says one more thing');
  const from = world.clientView.chunks.length;
  const request = world.say('bidi');
  const unanswered = bringToRest(world);
  const heard = world.clientView.chunks.slice(from);
  const isAnswered =
    heard.some((chunk) => chunk.type === 'text-delta' && chunk.delta.includes('End.')) &&
    heard.some((chunk) => chunk.type === 'finish' && chunk.finishReason === 'stop');
  return [
    ...(unanswered ? [`[B13] ${unanswered}`] : []),
    ...(isAnswered && request.is === 'begun' ? [] : ['[B6] the next message gets no answer']),
    ...atRest(world),
  ];
}

/** Lets everyone do what they owe. Says what kept the state from resting, or null. */
function bringToRest(world: World): string | null {
  world.isHeld = false;
  world.failing = 'no';
  world.failingKind = null;
  if (!world.hasListener) {
    world.hasListener = true;
    world.push({ type: 'joined' });
  }
  for (let round = 0; round < MAX_ROUNDS; round++) if (!goOn(world) && !answerOpen(world)) return null;
  return 'it does not come to rest';
}

/** What waits for the person or the browser is answered, or runs out of time. */
function answerOpen(world: World): boolean {
  const { openCalls, clientView } = world;
  if (openCalls.length === 0 || world.isClosed) return false;
  for (const { id, status, question, approvalId: asked } of openCalls) {
    const approvalId = clientView.calls.get(id)?.approvalId;
    if (status === 'requested' && approvalId !== undefined) {
      world.answer('bidi', [{ kind: 'decision', toolCallId: id, approvalId, approved: false }]);
      return true;
    }
    const isQuestion =
      status === 'requested' && question !== null && asked === null && clientView.calls.has(id);
    if (status === 'running' || status === 'parked' || isQuestion) {
      world.answer('bidi', [{ kind: 'output', toolCallId: id, output: 'here' }]);
      return true;
    }
  }
  world.pass(61_000);
  return true;
}

/** What is wrong with a state that has come to rest. */
function atRest(world: World): string[] {
  const waiting = world.requests.filter(({ is }) => is === 'waiting');
  const lost = world.requests.filter(
    ({ is, words }) => is === 'begun' && words !== null && !world.ledger.kept.has(words),
  );
  const tickets = world.runs.flatMap(({ tickets: all, is }) => (is === 'over' ? [] : [...all.values()]));
  return [
    ...waiting.map(({ name }) => `[B2] ${name} is neither taken nor refused`),
    ...(world.isClosed ? [] : lost.map(({ words }) => `[B2] "${words}" was taken and is not kept`)),
    ...(world.slot === null ? [] : [`[T22] ${world.slot} keeps the slot`]),
    ...tickets.map(({ id }) => `[B14] ADK waits with ${id}`),
    ...(world.isClosed ? [] : world.clientView.atRest()),
    ...(world.isClosed || !world.isBusy ? [] : ['[B13] the state is busy, and nothing is pending']),
  ];
}
