import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { RateLimiter } from '../../src/server/access/limits.ts';
import { ManualClock } from '../support/clock.ts';
import { harness, say } from '../support/harness.ts';
import { live } from '../support/live.ts';
import { MemoryHub, SharedMemory } from '../support/memory-hub.ts';
import { text } from '../support/scripted-model.ts';

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('limits of nodes that share a hub', () => {
  it('[A7] what a user posts to one node counts at the other', async () => {
    const shared = new SharedMemory();
    const options = () => ({
      hub: new MemoryHub(shared),
      newId: randomUUID,
      rateLimit: { burst: 3, perMinute: 1 },
    });
    const first = harness([[text('1')], [text('2')]], [], options());
    const second = harness([[text('3')], [text('4')]], [], options());
    expect((await first.post(say('a', 'one'))).status).toBe(200);
    expect((await second.post(say('b', 'two'))).status).toBe(200);
    expect((await first.post(say('c', 'one'))).status).toBe(200);
    // Its own count still has a token, but for the answer to its last one.
    expect((await second.post(say('d', 'two'))).status).toBe(200);
    const refused = await second.post(say('e', 'two'));
    expect([refused.status, refused.json]).toMatchObject([429, { error: { code: 'rate_limited' } }]);
    await first.duologue.close();
    await second.duologue.close();
  });

  it('[A7] each counts alone while the hub is away, and what another node answers is given back', async () => {
    const shared = new SharedMemory();
    const hub = new MemoryHub(shared);
    const limit = { burst: 2, perMinute: 1 };
    const clock = new ManualClock();
    const limiter = new RateLimiter(limit, clock, (user, count) =>
      hub.spend({ limit: 'posts', user, count, ...limit }),
    );
    expect([limiter.take('u'), limiter.take('u')]).toEqual([0, 0]);
    expect(limiter.take('u')).toBeGreaterThan(0);
    limiter.giveBack('u');
    expect(limiter.take('u')).toBe(0);
    await settled();
    expect(shared.buckets.get('posts u')).toBe(0);
    shared.isAway = true;
    clock.advance(60_000);
    expect(limiter.take('u')).toBe(0);
    await settled();
    expect(limiter.take('u')).toBeGreaterThan(0);
  });

  it('[A9] a user has no more connections at all nodes together than one node allows', async () => {
    const shared = new SharedMemory();
    const options = () => ({
      hub: new MemoryHub(shared),
      newId: randomUUID,
      socketLimits: { connectionsPerUser: 2 },
    });
    const first = await live([], [], options());
    const second = await live([], [], options());
    const one = await first.connect('?session=one');
    await second.connect('?session=two');
    await expect(second.connect('?session=three')).rejects.toThrow('429');
    await expect(first.connect('?session=four')).rejects.toThrow('429');
    one.close();
    const counted = () => [...(shared.connections.get('live_user')?.values() ?? [])];
    await expect.poll(counted).toEqual([0, 1]);
    const again = await second.connect('?session=three');
    await again.chunk('data-session');
  });
});
