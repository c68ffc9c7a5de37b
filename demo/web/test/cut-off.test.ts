import { expect, test } from 'vitest';
import { isCutOff } from '../src/connection/use-cut-off.ts';
import type { WireEvent } from '../src/wire/wire-event.ts';

const asked = (channel: number, path = '/stream'): WireEvent => ({
  at: 0,
  channel,
  type: 'request',
  method: 'POST',
  path,
  body: null,
});
const text = (channel: number): WireEvent => ({
  at: 0,
  channel,
  type: 'text',
  direction: 'in',
  text: 'data: 1',
});
const closed = (channel: number, reason: string): WireEvent => ({
  at: 0,
  channel,
  type: 'close',
  direction: 'in',
  code: null,
  reason,
});

test.each<[string, WireEvent[], boolean]>([
  ['nothing was asked', [], false],
  ['it is on its way', [asked(1), text(1)], false],
  ['it came to its end', [asked(1), text(1), closed(1, '')], false],
  ['it broke off', [asked(1), text(1), closed(1, 'network error')], true],
  [
    'its rest is asked for',
    [asked(1), text(1), closed(1, 'network error'), asked(2, '/stream/s/stream')],
    true,
  ],
  ['its rest comes', [asked(1), closed(1, 'network error'), asked(2, '/stream/s/stream'), text(2)], false],
  ['another request failed', [asked(1), text(1), asked(2, '/sessions'), closed(2, 'Failed to fetch')], false],
])('an answer over HTTP: %s', (_, events, expected) => {
  expect(isCutOff(events)).toBe(expected);
});
