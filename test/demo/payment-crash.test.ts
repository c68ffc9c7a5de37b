import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type { Store } from '../../src/server/index.ts';
import { type Card, cardsIn, demo, outcomesIn, sqliteIn, temporaryFolder } from './support/demo.ts';

const WRITES = ['appendEvent', 'putMessage', 'issueCalls', 'moveCall', 'decideCall', 'audit'] as const;
const UNKNOWN =
  'The outcome is unknown: the server stopped while the tool was running. It was not run again.';

/** A store that tells before each of its writes. */
function watched(store: Store, tell: (write: string) => void): Store {
  return new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(target, name) as unknown;
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        const write = WRITES.find((one) => one === name);
        if (write) tell(write);
        return member.apply(target, args);
      };
    },
  });
}

/** What is found in a folder after a crash when the approval is sent again, twice, and another payment is made. */
async function comeBack(folder: string, card: Card) {
  const { decide, say, messages, audit, close } = demo({ store: await sqliteIn(folder) });
  await decide([card], [true]);
  const again = (await decide([card], [true])).status;
  const [, answer] = await messages();
  const part = answer?.parts.find(
    (one): one is { state: string; output?: { wallet_balance: number }; errorText?: string } =>
      (one as { toolCallId?: string }).toolCallId === card.toolCallId,
  );
  const lines = await audit();
  const next = cardsIn(await say('Send $1 to Bob'));
  const [paid] = outcomesIn((await decide(next, [true])).chunks);
  await close();
  return {
    again,
    words: answer?.parts
      .flatMap((one) => ('text' in (one as object) ? [(one as { text: string }).text] : []))
      .at(-1),
    outcome: part?.output ? 'paid' : part?.errorText === UNKNOWN ? 'unknown' : JSON.stringify(part),
    consumed: lines.filter(({ kind }) => kind === 'consumed').length,
    balance: (paid as { wallet_balance: number }).wallet_balance,
  };
}

const paid = { again: 409, outcome: 'paid', consumed: 1, balance: 949 };
const unknown = { again: 409, outcome: 'unknown', consumed: 1, balance: 999 };

it('[T12] [T15] wherever a process dies after an approval, it pays once or not at all, and says which', async () => {
  const folder = temporaryFolder();
  const copies = temporaryFolder();
  const points: string[] = [];
  let isArmed = false;
  const store = watched(await sqliteIn(folder), (write) => {
    if (!isArmed) return;
    // What is on the disk between two writes is what a process that dies there leaves behind.
    const copy = join(copies, String(points.length));
    mkdirSync(copy);
    for (const file of ['duologue.db', 'duologue.db-wal']) cpSync(join(folder, file), join(copy, file));
    points.push(write);
  });
  const { say, decide, close } = demo({ store });
  const [card] = cardsIn(await say('Send $50 to Hanako'));
  if (!card) throw new Error('No card was shown.');
  isArmed = true;
  await decide([card], [true]);
  isArmed = false;
  await close();

  const found: unknown[] = [];
  for (const [index, write] of points.entries()) {
    const { words, ...after } = await comeBack(join(copies, String(index)), card);
    found.push([`died before ${write}`, after]);
  }
  // The approval is written, then it is consumed, then the tool runs and its outcome is written.
  const consumed = points.lastIndexOf('moveCall');
  const settled = points.indexOf('appendEvent');
  expect(points.filter((write) => write.endsWith('Call'))).toEqual(['decideCall', 'moveCall']);
  expect(settled).toBeGreaterThan(consumed);
  expect(found).toEqual(
    points.map((write, index) => [
      `died before ${write}`,
      index > consumed && index <= settled ? unknown : paid,
    ]),
  );
});

it('[T15] a process killed between the payment and its record leaves the money where it was', async () => {
  const folder = temporaryFolder();
  const program = fileURLToPath(new URL('support/dying-server.ts', import.meta.url));
  const { signal, stdout } = spawnSync(process.execPath, ['--import', 'tsx', program, folder], {
    encoding: 'utf8',
    timeout: 170_000,
  });
  expect(signal).toBe('SIGKILL');
  expect(await comeBack(folder, JSON.parse(stdout) as Card)).toEqual({
    ...unknown,
    words:
      'The outcome of the payment of $50 to Hanako is unknown: it may or may not have happened. Please check before you ask again.',
  });
}, 180_000);
