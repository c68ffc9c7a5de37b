import fc from 'fast-check';
import { vi } from 'vitest';
import { type Mode, pendingApprovals } from '../../../src/react/index.ts';
import { serve } from '../../../src/server/adapters/node.ts';
import type { Duologue } from '../../../src/server/index.ts';
import { fourTools } from '../../support/demo-tools.ts';
import { harness } from '../../support/harness.ts';
import { calls, partial, type ScriptedTurn, streamed, text } from '../../support/scripted-model.ts';
import { expectAlike, pass, passUntilDone } from './alike.ts';
import { BarePage, breakableLine } from './bare-page.ts';

/** The kinds of user messages: the first word of the text. */
const KINDS = ['talk', 'say', 'pay', 'both', 'where', 'music', 'weather'] as const;

/** The possible steps, the simplest first, for shrinking. */
const WHAT = ['wait', 'say', 'decide', 'say', 'interrupt', 'again', 'change', 'drop', 'load'] as const;

type Step = [what: (typeof WHAT)[number], page: 0 | 1, pick: number, turns: number];

const steps = fc.array(
  fc.tuple(
    fc.constantFrom(...WHAT),
    fc.constantFrom<0 | 1>(0, 1),
    fc.nat(41),
    // How much pending work finishes before the next step: none, some, all.
    fc.constantFrom(0, 1, 4, 40),
  ),
  { minLength: 2, maxLength: 24, size: 'max' },
);

/** The pace of the model: one word per step, until the test releases the rest. */
class Pace {
  #isFree = false;
  readonly #waiting = new Set<() => void>();

  next(signal?: AbortSignal): Promise<void> {
    if (this.#isFree || signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
      signal?.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  step(): void {
    for (const go of this.#waiting) go();
    this.#waiting.clear();
  }

  free(): void {
    this.#isFree = true;
    this.step();
  }
}

const pay = (recipient: string, amount: number) => ({
  name: 'process_payment',
  args: { amount, recipient },
});

/** A model that follows the first word of the user message and confirms each call; no two answers are equal. */
function modelOf(pace: () => Pace): ScriptedTurn {
  let count = 0;
  return async function* ({ contents }, _stream, signal) {
    const n = ++count;
    const parts = contents.at(-1)?.parts ?? [];
    const texts = parts.findLast((part) => part.text)?.text ?? '';
    if (parts.some((part) => part.functionResponse)) return yield* streamed(`Done ${n}`, '.');
    switch (texts.split(' ')[0]) {
      case 'talk': {
        for (const word of ['One', 'two', 'three']) {
          await pace().next(signal);
          if (signal?.aborted) return;
          yield partial(`${word} ${n} `);
        }
        return yield text(`One ${n} two ${n} three ${n} `);
      }
      case 'pay':
        return yield calls(pay('Alice', n));
      case 'both':
        return yield calls(pay('Alice', n), pay('Bob', n));
      case 'where':
        return yield calls({ name: 'get_location' });
      case 'music':
        return yield calls({ name: 'change_bgm', args: { track: n } });
      case 'weather':
        return yield calls({ name: 'get_weather', args: { location: `Place ${n}` } });
      default:
        return yield* streamed(`Yes ${n}`, '.');
    }
  };
}

/** A page and its user. */
class Page extends BarePage {
  /** The connection breaks. */
  readonly drop: () => void;
  readonly #name: string;
  #count = 0;

  constructor(options: { url: string; sessionId: string; mode: Mode }, name: string) {
    const { drop, ...line } = breakableLine();
    const tools = { change_bgm: () => 'on', get_location: () => 'here' };
    super({ ...options, ...line, tools });
    this.drop = drop;
    this.#name = name;
  }

  say(pick: number): void {
    if (!this.isOpen) return;
    const id = `${this.#name}-${++this.#count}`;
    const words = `${KINDS[pick % KINDS.length]} ${id}`;
    void this.conversation.chat.sendMessage({ id, role: 'user', parts: [{ type: 'text', text: words }] });
  }

  /** Decides a pending approval; returns whether there was one. */
  decide(pick: number): boolean {
    const approvals = pendingApprovals(this.messages);
    const approval = approvals[pick % Math.max(1, approvals.length)];
    if (approval) void this.conversation.decide(approval, pick % 3 > 0);
    return approval !== undefined;
  }

  /** Regenerates the last answer. */
  again(): void {
    if (this.isOpen && this.messages.at(-1)?.role === 'assistant') void this.conversation.chat.regenerate();
  }

  /** Edits an earlier message. */
  change(pick: number): void {
    const own = this.messages.filter(({ role }) => role === 'user');
    const messageId = own[pick % Math.max(1, own.length)]?.id;
    if (!this.isOpen || messageId === undefined) return;
    const words = `${KINDS[pick % KINDS.length]} again ${this.#name}-${++this.#count}`;
    void this.conversation.chat.sendMessage({ text: words, messageId });
  }
}

/** Plays one list of steps on two pages of one session. */
async function play(
  { url, duologue, pace }: { url: string; duologue: Duologue; pace: Pace },
  sessionId: string,
  modes: readonly [Mode, Mode],
  all: readonly Step[],
): Promise<void> {
  let loads = 0;
  const load = (index: 0 | 1) => new Page({ url, sessionId, mode: modes[index] }, `p${index}-${++loads}`);
  const pages: [Page, Page] = [load(0), load(1)];
  try {
    for (let turns = 0; turns < 500 && !pages.every((page) => page.isAtRest); turns++) await pass(1);
    let busy: number | null = null;
    for (const [what, index, pick, turns] of all) {
      // One user acts sequentially; two users act at the same time.
      if (busy === index) await pass(1);
      busy = turns === 0 ? index : null;
      const page = pages[index];
      switch (what) {
        case 'say':
          page.say(pick);
          break;
        case 'decide':
          page.decide(pick);
          break;
        case 'interrupt':
          page.conversation.interrupt();
          break;
        case 'again':
          page.again();
          break;
        case 'change':
          page.change(pick);
          break;
        case 'drop':
          page.drop();
          break;
        case 'load':
          page.close();
          pages[index] = load(index);
          break;
        default:
          what satisfies 'wait';
      }
      await pass(turns);
      pace.step();
    }
    pace.free();
    const session = { duologue, sessionId };
    await pass(100, 20);
    await expectAlike(session, pages, 'cards are open', { mayWait: true });
    await expectAlike(session, pages, 'all is answered', {
      act: () => pages.map((page) => page.decide(1)).includes(true),
    });
  } finally {
    for (const page of pages) page.close();
    pace.free();
  }
}

/** Sequences that once made two pages differ. */
export const ONCE_APART: Step[][] = [
  [
    ['drop', 1, 0, 0],
    ['say', 0, 0, 40],
    ['wait', 0, 0, 4],
    ['wait', 0, 0, 1],
    ['wait', 0, 0, 40],
    ['say', 0, 16, 4],
    ['decide', 0, 27, 0],
  ],
  [
    ['say', 1, 19, 0],
    ['say', 0, 0, 0],
    ['wait', 0, 0, 0],
  ],
  [
    ['say', 0, 0, 4],
    ['wait', 0, 0, 40],
    ['wait', 0, 0, 4],
    ['wait', 0, 0, 40],
    ['change', 1, 0, 0],
    ['wait', 0, 0, 0],
    ['again', 0, 0, 0],
  ],
  [
    ['say', 1, 38, 4],
    ['wait', 0, 15, 0],
    ['say', 0, 16, 0],
    ['decide', 1, 1, 4],
    ['interrupt', 1, 2, 0],
    ['decide', 1, 27, 4],
    ['again', 0, 25, 1],
  ],
  // A started answer without text keeps its place.
  [
    ['say', 0, 2, 1],
    ['say', 1, 2, 40],
    ['say', 0, 13, 0],
  ],
  [
    ['say', 0, 39, 40],
    ['say', 1, 25, 4],
    ['say', 0, 28, 4],
  ],
  [
    ['say', 0, 37, 0],
    ['decide', 0, 22, 1],
    ['decide', 1, 15, 0],
    ['change', 1, 21, 40],
  ],
];

/** The pairs of modes that two pages may have. */
export const PAIRS = [
  ['bidi', 'bidi'],
  ['sse', 'sse'],
  ['bidi', 'sse'],
  ['sse', 'bidi'],
] as const;

/** After any sequence of steps of two pages, both show the server's messages at rest. */
export async function expectTwoPagesAlike(
  modes: readonly [Mode, Mode],
  numRuns: number,
  examples: readonly (readonly Step[])[] = ONCE_APART,
): Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let pace = new Pace();
  const model = modelOf(() => pace);
  const { payment, location, music, weather } = fourTools();
  const runs = Number(process.env.DUOLOGUE_RUNS ?? numRuns);
  const { duologue } = harness(
    Array.from({ length: 500 * runs }, () => model),
    [payment, location, music, weather],
    { newId: () => crypto.randomUUID(), approvalTimeoutMs: null, rateLimit: false },
  );
  const served = await serve(duologue, { port: 0, host: '127.0.0.1' });
  let count = 0;
  try {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        pace = new Pace();
        await play({ url: served.url, duologue, pace }, `chat-${++count}`, modes, all);
      }),
      {
        numRuns: runs,
        // Shrinking a failure takes minutes, so it is enabled only for debugging.
        endOnFailure: !process.env.DUOLOGUE_SHRINK,
        examples: examples.map((one) => [[...one]] as [Step[]]),
        ...(process.env.DUOLOGUE_PATH && { path: process.env.DUOLOGUE_PATH }),
      },
    );
  } finally {
    await passUntilDone(served.close());
    vi.useRealTimers();
  }
}
