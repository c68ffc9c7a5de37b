import { expect, it } from 'vitest';
import { FrameMeter } from '../../src/server/socket/incoming.ts';
import { DEFAULT_SOCKET_LIMITS } from '../../src/server/socket/socket.ts';
import { ManualClock } from '../support/clock.ts';

function meterOf() {
  const clock = new ManualClock();
  const reported: string[] = [];
  const meter = new FrameMeter({
    limits: DEFAULT_SOCKET_LIMITS,
    clock,
    refuse: ({ code }) => reported.push(code),
    onFlood: () => reported.push('flooded'),
  });
  const count = (times: number, allows: () => boolean) => {
    let allowed = 0;
    for (let i = 0; i < times; i++) if (allows()) allowed++;
    return allowed;
  };
  return { clock, reported, meter, count };
}

it('[B21] 200 frames may come at once, and 100 in each second after', () => {
  const { clock, meter, count } = meterOf();
  expect(count(300, () => meter.allows())).toBe(200);
  clock.advance(1000);
  expect(count(300, () => meter.allows())).toBe(100);
});

it('[B21a] frames of sound and their bytes have limits of their own, eight seconds of them at once', () => {
  const { clock, meter, count } = meterOf();
  expect(count(5000, () => meter.allowsMedia(640))).toBe(4000);
  expect(count(20, () => meter.allowsMediaBytes(1024 * 1024))).toBe(13);
  expect(meter.allows()).toBe(true);
  clock.advance(1000);
  expect(count(1000, () => meter.allowsMedia(640))).toBe(500);
  expect(count(2, () => meter.allowsMedia(2 * 1024 * 1024))).toBe(0);
});

it('[B21b] of 100 dropped frames one is told, and after 2,000 the connection is flooded', () => {
  const { reported, meter, count } = meterOf();
  count(200 + 2000, () => meter.allows());
  expect(reported).toEqual(Array.from({ length: 20 }, () => 'rate_limited'));
  meter.allows();
  expect(reported.at(-1)).toBe('flooded');
});
