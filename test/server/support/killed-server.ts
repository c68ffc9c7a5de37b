import { writeSync } from 'node:fs';
import { openSqliteStore } from '../../../src/server/sqlite/index.ts';
import { payingServer } from './payment-server.ts';

/** A server that hangs at one place, so that a test can kill it there. */
const [folder = '', place = ''] = process.argv.slice(2);

const store = await openSqliteStore(folder);

/** Prints the place and never returns. */
function halt(where: string): Promise<never> {
  writeSync(1, `at ${where}\n`);
  return new Promise(() => undefined);
}

if (place === 'before-issue') store.issueCalls = () => halt(place);
if (place === 'after-issue') {
  const issue = store.issueCalls.bind(store);
  store.issueCalls = async (...given) => {
    await issue(...given);
    return halt(place);
  };
}
if (place === 'after-decision') {
  const move = store.moveCall.bind(store);
  store.moveCall = (key, change, line) => (change.to === 'running' ? halt(place) : move(key, change, line));
}
if (place === 'after-tool') {
  const append = store.appendEvent.bind(store);
  store.appendEvent = async (key, event) => {
    await append(key, event);
    if (event.content?.parts?.some((part) => part.functionResponse?.name === 'pay')) return halt(place);
  };
}

const { url } = await payingServer(
  store,
  (paid, wallet) => {
    writeSync(1, 'paid\n');
    return place === 'in-tool' ? halt(place) : { paid, wallet };
  },
  true,
);
writeSync(1, `listening ${url}\n`);
