import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Message } from '../../src/protocol/index.ts';
import { pendingApprovals } from '../../src/react/messages.ts';
import { ModelServer } from '../client/support/model-server.ts';
import { plain } from './support/alike.ts';
import { BarePage } from './support/bare-page.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
});

afterEach(() => {
  vi.useRealTimers();
});

/** A page and the person in front of it. */
class Page extends BarePage {
  private count = 0;
  private readonly name: string;

  constructor(server: ModelServer, name: string) {
    super({
      mode: 'bidi',
      url: 'http://localhost:1',
      sessionId: 'chat',
      WebSocket: server.WebSocket,
      fetch: server.fetch,
      tools: { music: () => 'on', locate: () => 'here' },
    });
    this.name = name;
  }

  say(): void {
    if (!this.isOpen) return;
    const id = `${this.name}-${++this.count}`;
    void this.conversation.chat.sendMessage({ id, role: 'user', parts: [{ type: 'text', text: id }] });
  }

  /** Answers a card, as the number says. */
  decide(pick: number): void {
    const [approval] = pendingApprovals(this.messages);
    if (approval) void this.conversation.decide(approval, pick % 3 > 0);
  }

  /** Asks again for the last answer, as long as no call waits. */
  regenerate(): void {
    if (this.isReady && this.messages.at(-1)?.role === 'assistant') void this.conversation.chat.regenerate();
  }
}

/** What happens next, in the order in which it is simplest. */
const WHAT = ['act', 'say', 'act', 'decide', 'act', 'regenerate', 'cut', 'lose', 'crash', 'load'] as const;

const steps = fc.array(fc.tuple(fc.constantFrom(...WHAT), fc.nat(11), fc.constantFrom(0, 20, 1_000)), {
  minLength: 5,
  maxLength: 60,
  size: 'max',
});

const wordsOf = (message: Message | undefined) =>
  (message?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** Finishes the work of the server and the page: every card is answered, every drop is over. */
async function finish(server: ModelServer, page: Page): Promise<void> {
  for (let round = 0; round < 60; round++) {
    await pass(round < 5 ? 40_000 : 100);
    if (server.isOver && page.isReady) break;
    for (let step = 0; step < 30 && !server.isAtRest; step++) server.act(step);
    await pass(100);
    page.decide(1);
  }
  await pass(1_000);
}

test('whatever is cut, repeated, taken over, reset or rewound, the page ends with the messages of the server', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const server = new ModelServer();
      let page = new Page(server, 'p0');
      let loads = 0;
      await pass(50);
      const happen: Record<(typeof WHAT)[number], (pick: number) => void> = {
        act: (pick) => server.act(pick),
        say: () => page.say(),
        decide: (pick) => page.decide(pick),
        regenerate: () => {
          if (server.isOver) page.regenerate();
        },
        cut: () => server.socket?.end(1006),
        crash: () => server.crash(),
        lose: () => {
          server.losesNext = true;
        },
        load: () => {
          // A page that is loaded in the middle of two answers, or of one that outlived a crash, has all when it is loaded again.
          if (server.hasQueue || !server.isReplayable) return;
          page.close();
          page = new Page(server, `p${++loads}`);
        },
      };
      for (const [what, pick, ms] of all) {
        happen[what](pick);
        // No click comes before the page is there.
        await pass(what === 'load' ? 200 : ms);
      }
      await finish(server, page);
      const isWhole = ({ id }: Message) => !server.cutOff.has(id);
      expect(plain(page.messages.filter(isWhole))).toEqual(plain(server.messages.filter(isWhole)));
      // Of an answer that a crash cut off the page shows no less than the server has.
      for (const message of server.messages.filter(({ id }) => server.cutOff.has(id))) {
        const shown = page.messages.find(({ id }) => id === message.id);
        expect(wordsOf(shown).startsWith(wordsOf(message))).toBe(true);
      }
      expect(server.taken).toEqual([...new Set(server.taken)]);
      page.close();
      page = new Page(server, 'again');
      await pass(1_000);
      expect(plain(page.messages)).toEqual(plain(server.messages));
      page.close();
    }),
    { numRuns: Number(process.env.DUOLOGUE_RUNS ?? 60) },
  );
});
