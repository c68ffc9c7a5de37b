import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { openWire, type Wire } from '../../scripts/cluster/wire.ts';
import { OUTCOME_UNKNOWN } from '../../src/protocol/index.ts';
import { answerBody, approve } from '../server/support/answers.ts';
import { say } from '../support/harness.ts';
import { Group, messagesOf, post } from './support/group.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();
const LEASE_MS = 4000;
const opened: { close(): Promise<unknown> }[] = [];

afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

/** A group of two, the first of which reaches PostgreSQL over a wire: `onRunning` is called when PostgreSQL has written that a call runs. */
async function groupOf(onRunning: (wire: Wire) => void): Promise<Group> {
  await schema.open().then((store) => store.close());
  const { port } = new URL(schema.url);
  let isOver = false;
  const wire: Wire = await openWire(Number(port), (bytes) => {
    if (!isOver && bytes.includes('running')) {
      isOver = true;
      onRunning(wire);
    }
    return bytes;
  });
  opened.push(wire);
  const group = new Group({ database: schema.url, schema: schema.name, leaseMs: LEASE_MS }, 1);
  opened.push(group);
  await group.start({ database: schema.url.replace(port, String(wire.port)) });
  await group.start();
  return group;
}

describe('[T15] an approved payment whose owner stood still after it was consumed', () => {
  test.each(['frozen', 'cut off from PostgreSQL'])(
    'and was %s for longer than its lease does not run after its outcome was reported as unknown',
    async (how) => {
      let stop = (_: Wire): void => undefined;
      let consumed = (): void => undefined;
      const isConsumed = new Promise<void>((resolve) => {
        consumed = resolve;
      });
      const group = await groupOf((wire) => {
        stop(wire);
        consumed();
      });
      let cut: Wire | null = null;
      const owner = group.one(0);
      stop = (wire) => {
        cut = wire;
        if (how === 'frozen') owner.process.kill('SIGSTOP');
        else setImmediate(() => wire.cut());
      };
      const id = `s-${randomUUID()}`;
      const asked = await post(owner.url, say('pay', id));
      const answering = post(owner.url, answerBody(asked, [approve()], id));
      await isConsumed;
      const { messages } = await messagesOf(group.one(1).url, id);
      expect(JSON.stringify(messages.at(-1))).toContain(OUTCOME_UNKNOWN);
      (cut as Wire | null)?.mend();
      owner.process.kill('SIGCONT');
      await answering;
      await expect
        .poll(() => owner.complaints, { timeout: 30_000 })
        .toMatch(/another node owns a session now|has another owner now/);
      // Requests through the owner take longer than the few reads that a tool waits for. It takes none until it has renewed its lease.
      const isAnswered = () => messagesOf(owner.url, id).then(Boolean, () => false);
      for (let round = 0; round < 5; round++) await expect.poll(isAnswered, { timeout: 60_000 }).toBe(true);
      expect(group.paid).toBe(0);
    },
  );
});
