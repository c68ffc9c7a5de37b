import { expect, vi } from 'vitest';
import type { Message } from '../../../src/protocol/index.ts';
import type { Duologue } from '../../../src/server/index.ts';
import type { BarePage } from './bare-page.ts';

/** Lets pending work finish, and advances the fake time a little with each turn of the event loop. */
export async function pass(turns: number, ms = 5): Promise<void> {
  for (let i = 0; i < turns; i++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(ms);
  }
}

/** Advances the fake time until a promise settles. */
export async function passUntilDone<T>(work: Promise<T>): Promise<T> {
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  while (!isDone) await pass(1, 100);
  return done;
}

/**
 * Messages as they are compared: without steps, neighbouring texts as one, and what a person said without what the server notes of it. A
 * page that is loaded while an answer goes on is not told what was decided before in it, only what came of it.
 */
export function plain(messages: readonly Message[]): unknown[] {
  return messages.map(({ id, role, parts, metadata = {} }) => {
    const kept: Record<string, unknown>[] = [];
    for (const part of parts) {
      if (part.type === 'step-start') continue;
      const before = kept.at(-1);
      if (part.type === 'text') {
        if (before?.type === 'text') before.text = `${before.text}${part.text}`;
        else kept.push({ type: 'text', text: part.text });
      } else if (part.type === 'file') {
        // The sending page shows a file with its bytes, other pages with its URL.
        kept.push({ type: 'file', mediaType: part.mediaType });
      } else {
        const { approval, ...rest } = part as Record<string, unknown>;
        kept.push(String(rest.state).startsWith('output') ? rest : { ...rest, approval });
      }
    }
    const known = role === 'user' ? {} : { metadata };
    return JSON.parse(JSON.stringify({ id, role, parts: kept, ...known })) as unknown;
  });
}

interface Stored {
  messages: Message[];
  isRunning: boolean;
}

/** A session as the server returns it. */
async function stored(duologue: Duologue, sessionId: string): Promise<Stored> {
  const response = await duologue.fetch(new Request(`http://localhost/sessions/${sessionId}`));
  if (response.status === 404) return { messages: [], isRunning: false };
  return (await response.json()) as Stored;
}

/**
 * Waits until server and pages are at rest and alike for a while; fails with what differs when that does not come. A page that could
 * not be loaded says so, and the person loads it again. `mayWait`: what waits for a card of another message has not begun. The page that
 * said it awaits it, and shows what follows it later; others do not have it yet. `act`: what people do
 * until then, and whether there was something to do.
 */
export async function expectAlike(
  { duologue, sessionId }: { duologue: Duologue; sessionId: string },
  pages: readonly BarePage[],
  when: string,
  {
    view = plain,
    mayWait = false,
    act = () => false,
  }: {
    view?: (messages: readonly Message[]) => unknown[];
    mayWait?: boolean;
    act?: () => boolean;
  } = {},
): Promise<void> {
  const whole = (messages: readonly Message[]) => {
    const begun = messages.filter(({ parts }) => parts.length > 0);
    const count = begun.findLastIndex(({ role }) => role === 'assistant') + 1;
    return mayWait ? begun.slice(0, count) : messages;
  };
  const look = async () => {
    const { messages, isRunning } = await stored(duologue, sessionId);
    return {
      when,
      isRunning,
      rests: pages.map((page) => mayWait || page.isAtRest || page.standing),
      shown: pages.map((page) => view(whole(page.messages))),
      server: view(whole(messages)),
    };
  };
  const wanted = (page: BarePage, shown: unknown[], server: unknown[]) =>
    mayWait && !page.isReady ? server.slice(0, shown.length) : server;
  // Fake time passes at once, but the network needs real time, more on a busy machine.
  const timeout = performance.now() + 15_000;
  for (let round = 0, rounds = 0; round < 600 || performance.now() < timeout; round++) {
    // Long enough for a browser tool that no page runs to time out.
    await pass(3, 60);
    const hasActed = act();
    for (const page of pages) if (page.hasFailed) void page.conversation.reload();
    const { isRunning, rests, shown, server } = await look();
    const isAlike =
      !hasActed &&
      !isRunning &&
      rests.every((rests) => rests === true) &&
      pages.every((page, index) => {
        const own = shown[index] ?? [];
        return JSON.stringify(own) === JSON.stringify(wanted(page, own, server));
      });
    rounds = isAlike ? rounds + 1 : 0;
    if (rounds > 5) return;
  }
  const last = await look();
  const { server } = last;
  expect(last).toEqual({
    when,
    isRunning: false,
    rests: pages.map(() => true),
    shown: pages.map((page, index) => wanted(page, last.shown[index] ?? [], server)),
    server,
  });
  throw new Error('It did not stay so.');
}
