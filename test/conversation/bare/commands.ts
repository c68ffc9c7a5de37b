import fc from 'fast-check';
import type { Answer } from '../../../src/protocol/index.ts';
import { type FakeRun, TOOLS, type ToolName } from './agent.ts';
import type { World } from './world.ts';

type Doing = [words: string, can: (world: World) => boolean, act: (world: World) => void];

/** One thing that happens to a machine. */
class Act implements fc.Command<World, World> {
  private readonly words: string;
  private readonly can: Doing[1];
  private readonly act: Doing[2];

  constructor([words, can, act]: Doing) {
    this.words = words;
    this.can = can;
    this.act = act;
  }

  check(world: Readonly<World>): boolean {
    return this.can(world as World);
  }

  run(world: World): void {
    world.note(`> ${this.words}`);
    this.act(world);
  }

  toString(): string {
    return this.words;
  }
}

const always = () => true;

/** The run that is not over, if there is one. */
function liveRun({ runs }: World): FakeRun | undefined {
  return runs.findLast(({ is }) => is !== 'over');
}

const on =
  (can: (run: FakeRun) => boolean) =>
  (world: World): boolean => {
    const run = liveRun(world);
    return run !== undefined && can(run);
  };

const doing = (
  words: string,
  can: (run: FakeRun) => boolean,
  act: (run: FakeRun, world: World) => void,
): Doing => [
  words,
  on(can),
  (world) => {
    const run = liveRun(world);
    if (run) act(run, world);
  },
];

const isLive = (run: FakeRun) => run.is === 'open' && run.driver === 'live';
const maySpeak = (run: FakeRun) => run.maySpeak;

const person: Doing[] = [
  ['the person says something', ({ hasListener }) => hasListener, (world) => world.say('bidi')],
  ['the person says something', ({ hasListener }) => hasListener, (world) => world.say('bidi')],
  ['the person posts something', always, (world) => world.say('sse')],
  [
    'the person takes back what they said',
    always,
    (world) => world.say('bidi', { again: world.requests.length > 0 ? 'm1' : 'm0' }),
  ],
  ['the person takes back what they posted', always, (world) => world.say('sse', { again: 'm1' })],
  ['the application says something', always, (world) => world.speak()],
  ['the person interrupts', always, (world) => world.interrupt()],
  [
    'the person makes a sound',
    ({ hasListener }) => hasListener,
    (world) => world.push({ type: 'media', blob: { mimeType: 'audio/pcm', data: '' }, from: 'page' }),
  ],
];

const page: Doing[] = [
  [
    'someone comes',
    always,
    (world) => {
      world.hasListener = true;
      world.push({ type: 'joined' });
    },
  ],
  [
    'whoever was there leaves',
    ({ hasListener }) => hasListener,
    (world) => {
      world.hasListener = false;
      world.push({ type: 'left' });
    },
  ],
  ['nobody comes back', ({ hasListener }) => !hasListener, (world) => world.pass(60_000)],
];

const model: Doing[] = [
  doing(
    'the run opens',
    ({ is }) => is === 'opening',
    (run) => run.open(),
  ),
  doing(
    'the run cannot be opened',
    ({ is }) => is === 'opening',
    (run) => run.end('No key.'),
  ),
  doing(
    'the run ends as it was told',
    ({ is }) => is === 'closing',
    (run) => run.end(null),
  ),
  doing('the model says a word', maySpeak, (run) => run.words()),
  doing('the model says a word', maySpeak, (run) => run.words()),
  doing('the model thinks', maySpeak, (run) => run.thought()),
  doing('the model makes a sound', maySpeak, (run) => run.sound()),
  doing('the model understands speech', isLive, (run) => run.heard()),
  doing('the model ends its turn', maySpeak, (run) => run.complete()),
  doing('the model ends its turn', maySpeak, (run) => run.complete()),
  doing('the model stops', isLive, (run) => run.stop()),
  doing(
    'the model takes a call back',
    (run) => isLive(run) && run.waitsFor.length > 0,
    (run) => run.cancel(run.waitsFor[0] ?? ''),
  ),
  doing(
    'a call comes to the gate',
    ({ made }) => made.length > 0,
    (run) => run.defer(),
  ),
  doing(
    'a call comes to the gate',
    ({ made }) => made.length > 0,
    (run) => run.defer(),
  ),
  doing(
    'ADK answers a call itself',
    ({ inside }) => inside.length > 0,
    (run) => run.answer(),
  ),
  doing(
    'the run pauses with its calls',
    ({ mayPause }) => mayPause,
    (run) => run.end(null),
  ),
  doing(
    'the run is lost',
    ({ is }) => is !== 'opening',
    (run) => run.end('It fell over.'),
  ),
  doing('the run ends by itself', isLive, (run) => run.end(null)),
  ['an older run says a word', ({ runs }) => runs.length > 1, ({ runs }) => runs[0]?.words()],
  ['an older run ends again', ({ runs }) => runs[0]?.is === 'over', ({ runs }) => runs[0]?.end('Late.')],
  [
    'an older run makes a call',
    ({ runs }) => runs[0]?.is === 'over',
    ({ runs }) => {
      const [run] = runs;
      run?.made.push({ id: '9999-pay', name: 'pay' });
      run?.defer();
    },
  ],
];

const server: Doing[] = [
  ['a tool returns', ({ tools }) => tools.length > 0, (world) => world.endTool('output')],
  ['a tool returns', ({ tools }) => tools.length > 0, (world) => world.endTool('output')],
  ['a callback returns', ({ callbacks }) => callbacks.length > 0, (world) => world.endCallbacks('output')],
  ['a callback throws', ({ callbacks }) => callbacks.length > 0, (world) => world.endCallbacks('error')],
  ['a tool throws', ({ tools }) => tools.length > 0, (world) => world.endTool('error')],
  ['a tool waits', ({ tools }) => tools.length > 0, (world) => world.endTool('waits')],
  ['a tool asks', ({ tools }) => tools.length > 0, (world) => world.endTool('asks')],
  ['the slot is given', ({ slot, line }) => slot === null && line.length > 0, (world) => world.grant()],
  ['they are signed in', ({ questions }) => questions.length > 0, (world) => world.signIn('signed-in')],
  ['they are signed out', ({ questions }) => questions.length > 0, (world) => world.signIn('signed-out')],
  [
    'nobody knows who is signed in',
    ({ questions }) => questions.length > 0,
    (world) => world.signIn('unknown'),
  ],
  ...[20, 1_000, 31_000, 61_000].map((ms): Doing => [`${ms} ms pass`, always, (world) => world.pass(ms)]),
];

const elsewhere = (['approved', 'denied'] as const).map(
  (to): Doing => [
    `a card is ${to} where the session was before`,
    ({ openCalls, clientView }) =>
      openCalls.some(({ id }) => clientView.calls.get(id)?.approvalId !== undefined),
    ({ openCalls, clientView, ledger }) => {
      const card = openCalls.find(({ id }) => clientView.calls.get(id)?.approvalId !== undefined);
      if (card) ledger.decideElsewhere(card.id, to);
    },
  ],
);

const disk: Doing[] = [
  [
    'the disk is slow',
    ({ isHeld }) => !isHeld,
    (world) => {
      world.isHeld = true;
    },
  ],
  [
    'the disk is fast again',
    ({ isHeld }) => isHeld,
    (world) => {
      world.isHeld = false;
      world.finishWrite('no');
    },
  ],
  ['a write is stored', ({ isWriting }) => isWriting, (world) => world.finishWrite('no')],
  ['a write is stored', ({ isWriting }) => isWriting, (world) => world.finishWrite('no')],
  ['a write fails', ({ isWriting }) => isWriting, (world) => world.finishWrite('fault')],
  [
    'a write finds a change of someone else',
    ({ isWriting }) => isWriting,
    (world) => world.finishWrite('conflict'),
  ],
  [
    'the next write will fail',
    ({ failing, isHeld }) => failing === 'no' && !isHeld,
    (world) => {
      world.failing = 'fault';
    },
  ],
  ...(['take', 'take', 'append-outcome', 'decide', 'show', 'store-message', 'store-message'] as const).map(
    (kind): Doing => [
      `the next "${kind}" will fail`,
      always,
      (world) => {
        world.failingKind = kind;
      },
    ],
  ),
  ['a call is written down', ({ apart }) => apart.length > 0, (world) => world.finishApart(true)],
  ['a call is written down', ({ apart }) => apart.length > 0, (world) => world.finishApart(true)],
  ['a call cannot be written down', ({ apart }) => apart.length > 0, (world) => world.finishApart(false)],
];

/** Does the next action of the server, the model or the clock that is due; false when none is. */
export function goOn(world: World): boolean {
  const run = liveRun(world);
  if (world.isWriting) world.finishWrite('no');
  else if (world.apart.length > 0) world.finishApart(true);
  else if (world.questions.length > 0) world.signIn('signed-in');
  else if (world.slot === null && world.line.length > 0) world.grant();
  else if (world.tools.length > 0) world.endTool('output');
  else if (world.callbacks.length > 0) world.endCallbacks('output');
  else if (run?.is === 'opening') run.open();
  else if (run?.is === 'closing') run.end(null);
  else if (run && run.made.length > 0) run.defer();
  else if (run && run.inside.length > 0) run.answer();
  else if (run?.mayPause) run.end(null);
  else if (run?.driver === 'turn' && run.maySpeak) run.complete();
  else if (run?.mustStop) run.stop();
  else if (run && run.owes > 0 && !run.isWaiting) run.complete();
  else if (world.openCalls.length === 0 && world.wakesAt !== null) world.pass(1_000);
  else return false;
  return true;
}

/** The next thing that a call needs on its way: without it few calls would reach their tools. */
const onwards: Doing = [
  'a call comes further',
  (world) => {
    const run = liveRun(world);
    const isCalling = run !== undefined && run.made.length + run.inside.length > 0;
    return isCalling || world.openCalls.length > 0;
  },
  (world) => {
    goOn(world);
  },
];

const end: Doing = [
  'the server shuts down',
  ({ isClosed }) => !isClosed,
  (world) => {
    world.isClosed = true;
    world.push({ type: 'shut-down' });
  },
];

const names = Object.keys(TOOLS) as ToolName[];
const calls = fc
  .array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 })
  .map((tools) =>
    doing(`the model calls ${tools.join(', ')}`, maySpeak, (run, world) => world.call(run, tools)),
  );

/** Answers to calls that were shown, right or wrong, over either wire. */
const answers = fc
  .record({
    n: fc.nat(5),
    kind: fc.constantFrom('approve', 'approve', 'approve', 'deny', 'output', 'failure', 'both'),
    isForged: fc.constantFrom(false, false, false, true),
    wire: fc.constantFrom('bidi' as const, 'bidi' as const, 'sse' as const),
  })
  .map(
    ({ n, kind, isForged, wire }): Doing => [
      `the person gives ${isForged ? 'a forged ' : ''}${kind} for call ${n} over ${wire}`,
      ({ clientView, hasListener }) => clientView.calls.size > 0 && (wire === 'sse' || hasListener),
      (world) => world.answer(wire, answersTo(world, n, kind, isForged)),
    ],
  );

function answersTo({ clientView }: World, n: number, kind: string, isForged: boolean): Answer[] {
  const open = [...clientView.calls].filter(([id]) => !clientView.ended.has(id));
  const [id, call] = open[n % Math.max(1, open.length)] ??
    [...clientView.calls][n % clientView.calls.size] ?? ['none', undefined];
  const approvalId = isForged ? 'approval_forged' : call?.approvalId;
  const decision: Answer = {
    kind: 'decision',
    toolCallId: id,
    approved: kind !== 'deny',
    ...(approvalId === undefined ? {} : { approvalId }),
  };
  const output: Answer = { kind: 'output', toolCallId: id, output: 'here' };
  switch (kind) {
    case 'output':
      return [output];
    case 'failure':
      return [{ kind: 'failure', toolCallId: id, errorText: 'It broke.' }];
    case 'both':
      return [decision, output];
    default:
      return [decision];
  }
}

/** Everything that may happen to a machine. */
export const anything: fc.Arbitrary<fc.Command<World, World>> = fc
  .oneof(
    { weight: 8, arbitrary: fc.constantFrom(...person) },
    { weight: 2, arbitrary: fc.constantFrom(...page) },
    { weight: 20, arbitrary: fc.constantFrom(...model) },
    { weight: 10, arbitrary: calls },
    { weight: 16, arbitrary: answers },
    { weight: 30, arbitrary: fc.constant(onwards) },
    { weight: 10, arbitrary: fc.constantFrom(...server) },
    { weight: 6, arbitrary: fc.constantFrom(...disk) },
    { weight: 1, arbitrary: fc.constantFrom(...elsewhere) },
    { weight: 1, arbitrary: fc.constantFrom(end, ...page) },
  )
  .map((one) => new Act(one));
