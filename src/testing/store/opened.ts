import type { Store } from '../../server/store/store.ts';
import type { StandingClock } from './standing-clock.ts';

/** What a suite tests: the store that was opened for the test, and the clock that its times come from. */
export interface Opened {
  store(): Store;
  clock: StandingClock;
}
