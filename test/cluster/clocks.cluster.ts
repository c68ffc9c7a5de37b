import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { decision } from '../support/live.ts';
import { auditOf, Group } from './support/group.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();

describe('nodes whose clocks are a minute apart', () => {
  const group = new Group({ database: schema.url, schema: schema.name, approvalTimeoutMs: 30_000 }, 0);

  afterEach(() => group.close());
  beforeAll(async () => {
    await schema.open().then((store) => store.close());
  });

  test.each([
    ['behind', -60_000, 60_000],
    ['ahead', 60_000, -60_000],
  ])(
    'the owner of a card is %s and dies: the other takes it over, and what is approved in time is paid once',
    async (_name, first, second) => {
      const owner = await group.start({ aheadMs: first });
      const other = await group.start({ aheadMs: second });
      const id = `s-${randomUUID()}`;
      const socket = await group.connect(owner.url, id);
      socket.say('pay');
      const card = await socket.chunk('tool-approval-request');
      const before = group.paid;
      await group.end(owner, 'SIGKILL');
      const back = await group.connect(other.url, id, socket.lastId);
      back.send('message', decision(card));
      await back.chunk('tool-output-available');
      expect(group.paid - before).toBe(1);
      expect(await auditOf(other.url, id)).toEqual(['issued', 'approved', 'consumed']);
    },
  );
});
