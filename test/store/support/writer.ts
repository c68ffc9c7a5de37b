import { writeSync } from 'node:fs';
import { openSqliteStore } from '../../../src/server/sqlite/index.ts';
import { answerEvent, callOf, keyOf } from '../../../src/testing/store/setup.ts';

/** Opens the store in the folder given and, on request, writes without end and prints each acknowledged write. */
const [folder, work] = process.argv.slice(2);
const store = await openSqliteStore(folder ?? '');
const key = keyOf('s1');
const session = (await store.loadSession(key)) ?? (await store.createSession(key, {}));
writeSync(1, 'open\n');

if (work === 'write') {
  for (let index = session.events.length; ; index++) {
    const call = callOf(`c${index}`);
    if ((await store.findCall(key, { id: call.id })) === null) await store.issueCalls(key, [call]);
    await store.appendEvent(key, answerEvent(`e${index}`, [call.id], { count: index + 1 }));
    writeSync(1, `${index}\n`);
  }
} else {
  // Held until the process is killed.
  setInterval(() => {}, 60_000);
}
