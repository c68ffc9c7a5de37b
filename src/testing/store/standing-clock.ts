/** A clock that stands until it is moved. */
export interface StandingClock {
  now: () => number;
  set(at: number): void;
}

/** A clock that starts at 1000. */
export function standingClock(): StandingClock {
  let at = 1_000;
  return {
    now: () => at,
    set(next) {
      at = next;
    },
  };
}
