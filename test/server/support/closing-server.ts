import { harness, say } from '../../support/harness.ts';

/** A server whose model never answers, closed at once: nothing but the closing is left to do. */
const { duologue, model, post } = harness([
  () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }) }),
]);
void post(say('hi'));
while (model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
await duologue.close();
process.stdout.write('closed\n');
