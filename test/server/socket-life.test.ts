import { beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_SOCKET_LIMITS } from '../../src/server/socket/socket.ts';
import { SocketLife } from '../../src/server/socket/socket-connection.ts';
import { ManualClock } from '../support/clock.ts';

const MINUTE = 60_000;

describe('the life of a socket', () => {
  let clock: ManualClock;
  let life: SocketLife;
  let pings: number;
  let ended: string[];
  const log = { last: 0 };
  /** Lets time pass; the other side answers every ping. */
  const pass = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 20_000) {
      clock.advance(20_000);
      life.noteAlive();
    }
  };

  beforeEach(() => {
    clock = new ManualClock();
    pings = 0;
    ended = [];
    log.last = 0;
    life = new SocketLife({
      clock,
      limits: DEFAULT_SOCKET_LIMITS,
      ping: () => pings++,
      onEnd: (why) => {
        ended.push(why);
        life.end();
      },
    });
    life.begin(log);
  });

  it('[B19] is over when the other side gives no sign for 60 seconds', () => {
    clock.advance(59_000);
    expect([pings, ended]).toEqual([2, []]);
    clock.advance(1_000);
    expect([pings, ended]).toEqual([2, ['silent']]);
    clock.advance(MINUTE);
    expect(ended).toHaveLength(1);
  });

  it('[B19a] is over when nothing is said for 30 minutes, however alive the other side is', () => {
    pass(30 * MINUTE);
    expect(ended).toEqual([]);
    pass(MINUTE);
    expect(ended).toEqual(['unused']);
  });

  it('[B19] goes on while either side says something', () => {
    pass(20 * MINUTE);
    life.noteActivity();
    pass(20 * MINUTE);
    log.last = 7;
    pass(30 * MINUTE);
    expect(ended).toEqual([]);
    pass(MINUTE);
    expect(ended).toEqual(['unused']);
  });
});
