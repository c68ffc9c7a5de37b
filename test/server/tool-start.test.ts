import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import { OUTCOME_UNKNOWN } from '../../src/protocol/index.ts';
import type { Duologue } from '../../src/server/index.ts';
import { ManualClock } from '../support/clock.ts';
import { type Harness, harness, say } from '../support/harness.ts';
import { MemoryDatabase, type NodeStore } from '../support/memory-nodes.ts';
import { call, text } from '../support/scripted-model.ts';
import { settled } from '../support/settled.ts';
import { answerBody, approve } from './support/answers.ts';

const LEASE_MS = 5000;
const opened: Duologue[] = [];

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

/** A node with a tool that pays after an approval. */
function startNode(database: MemoryDatabase, clock: ManualClock, name: string) {
  const ran: string[] = [];
  const pay = defineTool({
    name: 'pay',
    description: 'Pays',
    parameters: z.object({}),
    needsApproval: true,
    execute: async () => {
      ran.push('pay');
      return { done: true };
    },
  });
  const store = database.open();
  const server: Harness = harness([[call('pay', {})], [text('Done.')]], [pay], {
    store,
    clock,
    newId: randomUUID,
    node: { address: `http://127.0.0.1:1/${name}`, leaseMs: LEASE_MS },
  });
  opened.push(server.duologue);
  return { server, store, ran };
}

/** Lets time pass in steps that renewals can follow. */
async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let rest = ms; rest > 0; rest -= 500) {
    clock.advance(Math.min(rest, 500));
    await settled();
  }
}

/** Freezes a node after it wrote that an approved call runs: so many further calls of the store are answered before. */
function freezeAfterConsumed(store: NodeStore, further: number): Promise<void> {
  let left = Number.POSITIVE_INFINITY;
  return new Promise((resolve) => {
    store.onDone = (method, args) => {
      if (method === 'moveCall' && (args[1] as { to: string }).to === 'running') left = further;
      else if (left !== Number.POSITIVE_INFINITY) left--;
      if (left > 0) return;
      store.onDone = () => undefined;
      store.cut();
      resolve();
    };
  });
}

describe('a tool of a node whose session another node took over', () => {
  it.each([0, 1, 2])(
    '[T15] does not run after its outcome was reported as unknown (frozen %i calls later)',
    async (further) => {
      const clock = new ManualClock();
      const database = new MemoryDatabase(clock);
      const first = startNode(database, clock, 'a');
      const asked = await first.server.post(say('pay'));
      const consumed = freezeAfterConsumed(first.store, further);
      const answering = first.server.post(answerBody(asked, [approve()]));
      await consumed;
      await pass(clock, LEASE_MS + 1000);
      const second = startNode(database, clock, 'b');
      const page = (await (await second.server.get('/sessions/chat-1')).json()) as { messages: unknown[] };
      expect(JSON.stringify(page.messages.at(-1))).toContain(OUTCOME_UNKNOWN);
      first.store.mend();
      await pass(clock, LEASE_MS);
      await answering;
      expect([...first.ran, ...second.ran]).toEqual([]);
    },
  );

  it.each([0, 1, 2])(
    'runs once when the store was away, but no node took the session (frozen %i calls later)',
    async (further) => {
      const clock = new ManualClock();
      const database = new MemoryDatabase(clock);
      const first = startNode(database, clock, 'a');
      const asked = await first.server.post(say('pay'));
      const consumed = freezeAfterConsumed(first.store, further);
      const answering = first.server.post(answerBody(asked, [approve()]));
      await consumed;
      await pass(clock, LEASE_MS + 1000);
      expect(first.ran).toEqual([]);
      first.store.mend();
      await pass(clock, LEASE_MS);
      await answering;
      expect(first.ran).toEqual(['pay']);
    },
  );
});
