import type { Event } from '@google/adk';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EventList } from '../../src/server/store/session-cache.ts';
import { textEvent } from '../../src/testing/store/setup.ts';

/** What ADK does on each append. */
function putBySearch(events: Event[], event: Event): void {
  const place = events.findIndex((each) => each.id === event.id);
  if (place >= 0) events[place] = event;
  else events.push(event);
}

describe('an event list', () => {
  test('puts every event where a search would, whatever else is done to the array', () => {
    const id = fc.integer({ min: 0, max: 12 }).map(String);
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ do: fc.constant('put' as const), id }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('put to origin' as const), id }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('push' as const), id }) },
      {
        weight: 1,
        arbitrary: fc.record({ do: fc.constant('cut' as const), from: fc.nat(10), count: fc.nat(5) }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('prune' as const), at: fc.nat(10) }) },
    );
    fc.assert(
      fc.property(fc.uniqueArray(id), fc.array(step, { maxLength: 40 }), (first, steps) => {
        const origin = new EventList(first.map((each) => textEvent(each, 'first')));
        const list = new EventList([...origin.events], origin);
        const expected = [...list.events];
        const expectedOrigin = [...origin.events];
        for (const [index, each] of steps.entries()) {
          if (each.do === 'cut') {
            list.events.splice(each.from, each.count);
            expected.splice(each.from, each.count);
          } else if (each.do === 'prune') {
            const pruned = { ...expected[each.at], author: `${index}` } as Event;
            if (expected[each.at] !== undefined) {
              list.events[each.at] = pruned;
              expected[each.at] = pruned;
            }
          } else {
            const event = textEvent(each.id, `${index}`);
            if (each.do === 'put') {
              list.put(event);
              putBySearch(expected, event);
            } else if (each.do === 'put to origin') {
              origin.put(event);
              putBySearch(expectedOrigin, event);
            } else if (!expected.some((other) => other.id === each.id)) {
              list.events.push(event);
              expected.push(event);
            }
          }
          expect(list.events).toEqual(expected);
          expect(origin.events).toEqual(expectedOrigin);
        }
      }),
    );
  });
});
