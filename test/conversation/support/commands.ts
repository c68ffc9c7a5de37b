import fc from 'fast-check';
import type { Write } from './watched-store.ts';
import { TOOLS, type ToolName } from './workbench.ts';
import { type SeenCall, settle, type World } from './world.ts';

/** One command: when it is possible, what it does, and how much pending work finishes before the next one. */
class Act implements fc.AsyncCommand<World, World> {
  private readonly words: string;
  private readonly can: (world: World) => boolean;
  private readonly act: (world: World) => void | Promise<void>;
  private readonly pause: number;

  constructor(words: string, pause: number, can: Act['can'], act: Act['act']) {
    this.words = words;
    this.pause = pause;
    this.can = can;
    this.act = act;
  }

  check(world: Readonly<World>): boolean {
    return this.can(world as World);
  }

  async run(world: World): Promise<void> {
    world.journal.add({ kind: 'command', text: String(this) });
    await this.act(world);
    if (this.pause === ALL) await settle();
    else for (let i = 0; i < this.pause; i++) await Promise.resolve();
  }

  toString(): string {
    return this.pause === ALL ? this.words : `${this.words}, and ${this.pause} steps later`;
  }
}

/** Long enough for all pending work. */
const ALL = -1;

type Doing = [words: string, can: (world: World) => boolean, act: (world: World) => void | Promise<void>];

/** Most commands finish before the next one; some start while the previous one is still running. */
const overlapping = fc.oneof(
  { weight: 3, arbitrary: fc.constant(ALL) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 40 }) },
);

const always = () => true;
const isHere = ({ page }: World) => page !== undefined;

/** All commands of a conversation. */
export function anything(failing: readonly Write[]): fc.Arbitrary<Act> {
  const acts = (weight: number, doing: fc.Arbitrary<Doing>) => ({
    weight,
    arbitrary: fc
      .tuple(doing, overlapping)
      .map(([[words, can, act], after]) => new Act(words, after, can, act)),
  });
  return fc.oneof(
    acts(3, fc.constant<Doing>(['the person says something', isHere, (world) => world.say(true)])),
    acts(2, fc.constant<Doing>(['the person says something without a name', isHere, (world) => world.say()])),
    acts(1, fc.constant<Doing>(['the person posts something', always, (world) => world.postMessage()])),
    acts(2, fc.constantFrom<Doing>(...continuing)),
    acts(8, answer),
    acts(1, fc.constantFrom<Doing>(...interrupting)),
    acts(2, fc.constantFrom<Doing>(...coming)),
    acts(16, modelStep),
    acts(4, toolEnd),
    acts(2, fc.constantFrom(20, 1_000, 31_000, 61_000).map(time)),
    acts(1, disk(failing)),
    acts(1, fc.constantFrom<Doing>(...ending)),
  );
}

/** Only an answer that was cut is continued; otherwise the server rejects the request. */
const continuing: Doing[] = [
  [
    'the person continues the last answer',
    isHere,
    ({ page }) => page?.send('message', { trigger: 'continue-message', messageId: page.view.last ?? 'none' }),
  ],
  [
    'the person continues the last answer by post',
    isHere,
    (world) => world.postContinuation(world.page?.view.last ?? 'none'),
  ],
];

const interrupting: Doing[] = [
  ['the person interrupts', isHere, ({ page }) => page?.send('interrupt')],
  ['the person stops it over HTTP', always, (world) => world.stop()],
];

const coming: Doing[] = [
  ['the page comes back', always, (world) => world.join('back')],
  ['another page comes', always, (world) => world.join('anew')],
  ['another page comes and loads everything', always, (world) => world.join('lost')],
  ['the page loses its connection', isHere, ({ page }) => page?.leave()],
];

const ending: Doing[] = [
  [
    'the server restarts',
    always,
    async (world) => {
      await world.shutDown();
      world.start();
      await world.join('back');
    },
  ],
  [
    'the server dies and starts again',
    always,
    async (world) => {
      world.kill();
      await settle();
      world.start();
      await world.join('back');
    },
  ],
];

function time(ms: number): Doing {
  return [`${ms} ms pass`, always, (world) => world.pass(ms)];
}

function disk(failing: readonly Write[]): fc.Arbitrary<Doing> {
  const faults = failing.map<Doing>((method) => [
    `the next ${method} fails`,
    // The server tries to store an outcome twice, and sends it in any case.
    ({ store }) => !store.isFailing,
    ({ store }) => store.failOnce(method),
  ]);
  const slow: Doing[] = [
    ['the disk is slow', ({ store }) => !store.isHeld, ({ store }) => store.hold()],
    ['the disk is done', ({ store }) => store.isHeld, ({ store }) => store.release()],
  ];
  return fc.constantFrom<Doing>(...faults, ...slow);
}

const toolEnd: fc.Arbitrary<Doing> = fc
  .tuple(fc.nat(3), fc.constantFrom('returns' as const, 'returns' as const, 'throws' as const))
  .map(([n, how]) => [
    `running tool ${n} ${how}`,
    ({ bench }) => bench.running.length > 0,
    ({ bench }) => pick(bench.running, n)?.end(how),
  ]);

/** Valid and invalid answers to open and closed calls, over either transport. */
const answer: fc.Arbitrary<Doing> = fc
  .record({
    n: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(5) }),
    kind: fc.constantFrom('approve', 'approve', 'approve', 'deny', 'output', 'output', 'failure', 'both'),
    flaw: fc.oneof(
      { weight: 4, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.constantFrom('approval id', 'input', 'call id') },
    ),
    wire: fc.constantFrom('message', 'message', 'tool_result', 'post'),
  })
  .map(({ n, kind, flaw, wire }) => [
    `the person gives ${kind} for call ${n} by ${wire}${flaw ? `, with a wrong ${flaw}` : ''}`,
    (world) => world.seenCalls.length > 0 && (wire === 'post' || isHere(world)),
    (world) => {
      const call = pick(world.seenCalls.filter(fits(kind)), n) ?? pick(world.seenCalls, n);
      if (!call) return;
      const decides = kind === 'approve' || kind === 'both';
      if (decides && !flaw) world.approved.add(call.id);
      if (wire === 'tool_result' && !flaw) return world.page?.send('tool_result', resultOf(call, kind));
      const part = partOf(call, kind, flaw);
      if (wire === 'post') return world.postAnswer(part);
      world.page?.send('message', { messages: [{ id: 'any', role: 'assistant', parts: [part] }] });
    },
  ]);

/** Whether an answer of that kind fits a call. */
function fits(kind: string): (call: SeenCall) => boolean {
  const isDecision = kind === 'approve' || kind === 'deny' || kind === 'both';
  return ({ approvalId, name }) =>
    isDecision ? approvalId !== undefined : name === 'play' || name === 'locate';
}

function resultOf({ id: toolCallId }: SeenCall, kind: string): object {
  switch (kind) {
    case 'approve':
      return { toolCallId, status: 'approved' };
    case 'deny':
      return { toolCallId, status: 'rejected' };
    case 'both':
      return { toolCallId, status: 'approved', result: { ok: true } };
    case 'failure':
      return { toolCallId, error: 'It broke.' };
    default:
      return { toolCallId, result: { ok: true } };
  }
}

function partOf({ id, name, input, approvalId = 'none' }: SeenCall, kind: string, flaw?: string): object {
  const decision =
    kind === 'output' || kind === 'failure'
      ? {}
      : {
          approval: {
            id: flaw === 'approval id' ? 'approval_forged' : approvalId,
            approved: kind !== 'deny',
          },
        };
  const result =
    kind === 'failure'
      ? { state: 'output-error', errorText: 'It broke.' }
      : kind === 'output' || kind === 'both'
        ? { state: 'output-available', output: { ok: true } }
        : { state: 'approval-responded' };
  return {
    type: `tool-${name}`,
    toolCallId: flaw === 'call id' ? 'another' : id,
    input: flaw === 'input' ? { n: 999 } : input,
    ...result,
    ...decision,
  };
}

const names = Object.keys(TOOLS) as ToolName[];

const speaks = ({ model: { generation, line } }: World) => generation !== undefined || line !== null;
const isLive = ({ model: { line } }: World) => line !== null;
const mayEnd = ({ model: { line } }: World) => line?.mustStop === false;

const modelStep: fc.Arbitrary<Doing> = (() => {
  const steps: Doing[] = [
    ['the model says a word', speaks, ({ model }) => model.words()],
    ['the model thinks', ({ model }) => model.generation !== undefined, ({ model }) => model.thought()],
    ['the model makes a sound', isLive, ({ model }) => model.sound()],
    [
      'the model ends its turn',
      (world) => world.model.generation !== undefined || mayEnd(world),
      ({ model }) => model.complete(),
    ],
    [
      'the model stops as it was told',
      ({ model }) => model.line?.mustStop === true,
      ({ model }) => model.stop(),
    ],
    ['the model hears the person and stops', mayEnd, ({ model }) => model.stop()],
    ['the model understands speech', isLive, ({ model }) => model.heard('hello')],
    ['the model fails', speaks, ({ model }) => model.fail()],
    ['the model hangs up', isLive, ({ model }) => model.hangUp()],
    [
      'the model takes a call back',
      ({ model: { line } }) => line !== null && line.waiting.size > 0,
      ({ model }) => model.cancel([...(model.line?.waiting.keys() ?? [])][0] ?? ''),
    ],
    [
      'the model will refuse a connection',
      ({ model }) => model.nativeLive,
      ({ model }) => {
        model.refusals += 1;
      },
    ],
    [
      'the person speaks',
      ({ model, page }) => model.nativeLive && page !== undefined,
      ({ page }) => {
        page?.send('audio_control', { action: 'start' });
        page?.send('audio_chunk', { chunk: 'AAECAw==' });
      },
    ],
  ];
  const call = fc
    .array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 })
    .map<Doing>((tools) => [`the model calls ${tools.join(', ')}`, speaks, ({ model }) => model.call(tools)]);
  return fc.oneof(
    { weight: 2, arbitrary: call },
    { weight: 3, arbitrary: fc.constantFrom(...steps.slice(0, 5)) },
    { weight: 1, arbitrary: fc.constantFrom(...steps.slice(5)) },
  );
})();

/** One of a list, by a number of any size. */
function pick<T>(list: readonly T[], n: number): T | undefined {
  return list[n % list.length];
}
