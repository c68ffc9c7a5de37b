import { describe, expect, it } from 'vitest';
import { Readers } from '../../src/server/output/output.ts';

const FAR = 10_000;

/** A reader that has taken nothing yet. */
function reader(isActive: boolean) {
  const one = { isActive, seq: 0, position: () => one.seq, cut: () => undefined };
  return one;
}

/** Whether the agent is held back now, and whether that has ended. */
async function held(readers: Readers) {
  const room = readers.room();
  const state = { isHeld: room !== undefined };
  void room?.then(() => {
    state.isHeld = false;
  });
  return state;
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a client that does not read', () => {
  it('holds the agent back when it has the floor, until it reads', async () => {
    const readers = new Readers(() => FAR);
    const slow = reader(true);
    readers.attach(slow);
    const agent = await held(readers);
    expect(agent.isHeld).toBe(true);
    slow.seq = FAR;
    readers.moved();
    await settled();
    expect(agent.isHeld).toBe(false);
  });

  it('holds back everyone who waits for it, and lets all of them go', async () => {
    const readers = new Readers(() => FAR);
    const leave = readers.attach(reader(true));
    const waiting = [await held(readers), await held(readers)];
    expect(waiting.map(({ isHeld }) => isHeld)).toEqual([true, true]);
    leave();
    await settled();
    expect(waiting.map(({ isHeld }) => isHeld)).toEqual([false, false]);
  });

  it('holds nobody back when it reads along', async () => {
    const readers = new Readers(() => FAR);
    readers.attach(reader(false));
    expect((await held(readers)).isHeld).toBe(false);
  });

  it.each<[string, (readers: Readers, leave: () => void) => void]>([
    ['goes', (_readers, leave) => leave()],
    ['is no longer active because another connection is', (readers) => readers.loseActive()],
    [
      'loses the floor to one who asks now',
      (readers) => void readers.attach({ ...reader(true), position: () => FAR }),
    ],
  ])('lets the agent go on when it %s', async (_what, then) => {
    const readers = new Readers(() => FAR);
    const leave = readers.attach(reader(true));
    const agent = await held(readers);
    expect(agent.isHeld).toBe(true);
    then(readers, leave);
    await settled();
    expect(agent.isHeld).toBe(false);
  });
});
