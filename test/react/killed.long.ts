import { expect, it } from 'vitest';
import { type Message, OUTCOME_UNKNOWN } from '../../src/protocol/index.ts';
import { pendingApprovals } from '../../src/react/messages.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { payingServer } from '../server/support/payment-server.ts';
import { folderOfItsOwn, start } from '../server/support/server-process.ts';
import { plain } from './support/alike.ts';
import { BarePage } from './support/bare-page.ts';

/** Two servers on one store: a process that can be killed, and the process after it. */
interface Mortal {
  /** Where the server is that lives. */
  url(): string;
  /** Kills the process; the next takes its place. */
  kill(): void;
  /** Set by a connected client: called when the process is dead. */
  onDeath?: () => void;
  paid(): number;
  end(): Promise<void>;
}

async function mortal(): Promise<Mortal> {
  const folder = folderOfItsOwn();
  const process = await start(folder);
  let paidNext = 0;
  let next: Awaited<ReturnType<typeof payingServer>> | null = null;
  // Nothing listens between the two: a page finds no server for a while.
  let change: Promise<void> | null = null;
  const server: Mortal = {
    url: () => next?.url ?? process.url,
    kill: () => {
      change ??= process.kill().then(async () => {
        server.onDeath?.();
        next = await payingServer(await openSqliteStore(folder), (paid, wallet) => {
          paidNext++;
          return { paid, wallet };
        });
      });
    },
    paid: () => process.lines.filter((line) => line === 'paid').length + paidNext,
    end: async () => {
      await change;
      await next?.close();
      await process.kill();
    },
  };
  return server;
}

/** A `fetch` to whichever server lives, that says of every block that it hears, on a line that breaks with the server. */
function lineTo(server: Mortal, onBlock: () => void): { fetch: typeof fetch; drop: () => void } {
  let line = new AbortController();
  return {
    fetch: async (input, init) => {
      const url = new URL(String(input));
      url.host = new URL(server.url()).host;
      const own = line.signal;
      const signal = AbortSignal.any([own, ...(init?.signal ? [init.signal] : [])]);
      const response = await fetch(url, { ...init, signal });
      const { status, headers, body } = response;
      if (!body || !headers.get('content-type')?.startsWith('text/event-stream')) return response;
      let rest = '';
      const inBlocks = new TransformStream<string, string>({
        transform(text, controller) {
          const blocks = (rest + text).split(/(?<=\n\n)/);
          rest = blocks.at(-1)?.endsWith('\n\n') ? '' : (blocks.pop() ?? '');
          for (const block of blocks) {
            if (own.aborted) return;
            controller.enqueue(block);
            if (!block.startsWith(':')) onBlock();
          }
        },
      });
      const heard = body
        .pipeThrough(new TextDecoderStream() as never)
        .pipeThrough(inBlocks)
        .pipeThrough(new TextEncoderStream());
      return new Response(heard as never, { status, headers });
    },
    drop: () => {
      const old = line;
      line = new AbortController();
      old.abort(new TypeError('terminated'));
    },
  };
}

interface Survived {
  messages: Message[];
  /** Whether the page shows what the server has. */
  isShown: boolean;
  paid: number;
  /** How many blocks the page heard. */
  blocks: number;
}

/** Says something over SSE, approves what is asked, and kills the server after so many blocks. */
async function survive(killAfter = Number.POSITIVE_INFINITY): Promise<Survived> {
  const server = await mortal();
  let blocks = 0;
  const line = lineTo(server, () => {
    if (++blocks === killAfter) server.kill();
  });
  server.onDeath = line.drop;
  const page = new BarePage({ url: server.url(), sessionId: 'chat-1', mode: 'sse', fetch: line.fetch });
  const stored = async (): Promise<{ messages: Message[]; isRunning: boolean }> => {
    const response = await fetch(`${server.url()}/sessions/chat-1`).catch(() => null);
    return response?.ok ? await response.json() : { messages: [], isRunning: true };
  };
  try {
    await expect.poll(() => page.isAtRest, { timeout: 60_000 }).toBe(true);
    void page.conversation.chat.sendMessage({ text: 'pay' });
    let decided = '';
    let quiet = 0;
    let now = await stored();
    const look = async () => {
      now = await stored();
      const [approval] = pendingApprovals(page.messages);
      // A person who sees a card again, and no sign that anything goes on, clicks again.
      if (approval && (decided !== approval.id || quiet > 5)) {
        decided = approval.id;
        void page.conversation.decide(approval, true);
        quiet = 0;
      }
      const isOver = page.isAtRest && !now.isRunning && now.messages.length > 1;
      quiet = isOver ? quiet + 1 : 0;
      return quiet > 8 && !approval;
    };
    await expect.poll(look, { timeout: 60_000, interval: 20 }).toBe(true);
    const isShown = JSON.stringify(plain(page.messages)) === JSON.stringify(plain(now.messages));
    return { messages: now.messages, isShown, paid: server.paid(), blocks };
  } finally {
    page.close();
    await server.end();
  }
}

it('what is posted to a process that is killed is said once, pays once and is shown, after whichever block', {
  timeout: 900_000,
}, async () => {
  const whole = await survive();
  expect([whole.isShown, whole.paid, whole.messages.length, whole.blocks > 8]).toEqual([true, 1, 2, true]);
  for (let after = 1; after < whole.blocks; after++) {
    const { messages, paid, isShown } = await survive(after);
    const [texts, answer] = messages;
    // Of an answer that was cut off the page goes on showing what it has shown (R7).
    const isCutOff = answer?.metadata?.cutOff === true;
    // One that was killed while it paid cannot know whether it did, and does not pay again.
    const isUnknown = JSON.stringify(answer).includes(OUTCOME_UNKNOWN);
    expect({
      after,
      roles: [texts?.role, answer?.role, messages.length],
      isShown: isShown || isCutOff,
      paid: isUnknown && paid === 0 ? 1 : paid,
    }).toEqual({ after, roles: ['user', 'assistant', 2], isShown: true, paid: 1 });
  }
});
