import { expect, it } from 'vitest';
import { hasStockSocket, newestSdk } from '../../support/sdks.ts';
import { type Cut, cutting, cuttingFetch, cuttingStock } from './cuts.ts';
import { closeAll, type Played, play, type Staging } from './play.ts';
import { type Scenario, scenarios } from './scenarios.ts';

const NOWHERE = Number.POSITIVE_INFINITY;

/** The same conversation with a slow model, so that the connection is restored before the turn is over. */
function slowly(scenario: Scenario): Scenario {
  return {
    ...scenario,
    turns: () =>
      scenario.turns().map((turn) =>
        typeof turn === 'function'
          ? turn
          : async function* () {
              for (const response of turn) {
                for (let i = 0; i < 12; i++) await new Promise((resolve) => setImmediate(resolve));
                if (response instanceof Error) throw response;
                yield structuredClone(response);
              }
            },
      ),
  };
}

/** The results that must be equal, however often the connection broke. */
const essence = ({ messages, stored, ran, ranInBrowser, error, left }: Played) => ({
  messages,
  stored,
  ran,
  ranInBrowser,
  error,
  left,
});

/** The places at which the test breaks the connection. */
export type Choice = <T>(places: T[]) => T[];

// A long answer is the same block again and again; two thousand cuts of it would show nothing new.
const short = scenarios
  .filter(({ name }) => name !== 'a long answer')
  .flatMap((scenario) => [
    [scenario.name, scenario] as const,
    [`${scenario.name}, slowly`, slowly(scenario)] as const,
  ]);

/** Breaks a socket once at every chosen place, and compares with an unbroken socket. */
async function breakSocket(
  scenario: Scenario,
  way: 'WebSocket' | 'stock WebSocket',
  choose: Choice,
  staging?: Staging,
): Promise<void> {
  const cutAt = way === 'WebSocket' ? cutting : cuttingStock;
  const whole = cutAt({ after: 'block', number: NOWHERE });
  const expected = essence(await play(scenario, way, newestSdk, whole, staging));
  const { block, frame } = whole.counts;
  await closeAll();
  const cuts = [
    ...choose(places('block', block)),
    ...choose(places('unsent', frame)),
    ...choose(places('sent', frame)),
  ];
  for (const cut of cuts) {
    const broken = cutAt(cut);
    const played = await play(scenario, way, newestSdk, broken, staging);
    expect(essence(played), `cut ${cut.after} ${cut.number} of ${block} and ${frame}`).toEqual(expected);
    expect(broken.hasCut()).toBe(true);
    await closeAll();
  }
}

/** Breaks the stock WebSocket of the newest `ai` once at every place of every conversation, over the nodes of `staging`, and compares with an unbroken one. */
export function breakTheStockLine(staging: () => Staging): void {
  it.each(hasStockSocket(newestSdk) ? short.filter(([name]) => !name.endsWith(', slowly')) : [])(
    '[W6] [W7] [W8] over the stock WebSocket of the newest ai leaves no trace: %s',
    { timeout: 600_000 },
    (_name, scenario) => breakSocket(scenario, 'stock WebSocket', (places) => places, staging()),
  );
}

/** Breaks the connection once at every chosen place of every conversation, and compares with an unbroken one. */
export function breakTheLine(choose: Choice): void {
  it.each(short)(
    '[R6] [R2] [T12] over the socket leaves no trace: %s',
    { timeout: 300_000 },
    (_name, scenario) => breakSocket(scenario, 'WebSocket', choose),
  );

  it.each(hasStockSocket(newestSdk) ? short : [])(
    '[W6] [W7] [W8] over the stock WebSocket of the newest ai leaves no trace: %s',
    { timeout: 300_000 },
    (_name, scenario) => breakSocket(scenario, 'stock WebSocket', choose),
  );

  it.each(short)('[R2] over SSE leaves no trace: %s', { timeout: 300_000 }, async (_name, scenario) => {
    const whole = cuttingFetch(NOWHERE);
    const expected = essence(await play(scenario, 'SSE', newestSdk, whole));
    const { block } = whole.counts;
    for (const number of choose(Array.from({ length: block }, (_, index) => index))) {
      const broken = cuttingFetch(number);
      const played = await play(scenario, 'SSE', newestSdk, broken);
      expect(essence(played), `cut after ${number} of ${block}`).toEqual(expected);
      expect(broken.hasCut()).toBe(true);
    }
  });
}

function places(after: Cut['after'], count: number): Cut[] {
  return Array.from({ length: count }, (_, index) => ({ after, number: index + 1 }));
}
