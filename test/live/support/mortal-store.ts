import type { Clock } from '../../../src/server/clock.ts';
import type { Store } from '../../../src/server/index.ts';

/** A store as a process sees it that dies: from then on nothing that it wants is done, and nothing comes back. */
export interface MortalStore {
  store: Store;
  /** The process dies. */
  die(): void;
  /** What the dead process waits for will not come: it may be cleaned up. */
  bury(): void;
}

/** Lets a process die with what it has of the store. */
export function mortalStore(inner: Store): MortalStore {
  let isDead = false;
  const waiting: (() => void)[] = [];
  const never = () =>
    new Promise<never>((_, reject) => {
      waiting.push(() => reject(new Error('The process is dead.')));
    });
  const store = new Proxy(inner, {
    get(target, name: keyof Store & string) {
      if (name === 'close') return async () => undefined;
      const method = target[name] as (...args: never[]) => Promise<unknown>;
      return (...args: never[]) => (isDead ? never() : method(...args));
    },
  });
  const die = () => {
    isDead = true;
  };
  return {
    store,
    die,
    bury: () => {
      die();
      for (const reject of waiting.splice(0)) reject();
    },
  };
}

/** Time as it is, until there is nothing left to wait for: then whatever waits is over at once. */
export function hurriedClock(): { clock: Clock; hurry: () => void } {
  let isHurried = false;
  const waiting = new Set<() => void>();
  return {
    clock: {
      now: () => Date.now(),
      elapsed: () => performance.now(),
      after(ms, work) {
        const run = () => {
          waiting.delete(run);
          clearTimeout(timer);
          work();
        };
        const timer = setTimeout(run, isHurried ? 0 : ms);
        waiting.add(run);
        return () => {
          waiting.delete(run);
          clearTimeout(timer);
        };
      },
    },
    hurry: () => {
      isHurried = true;
      for (const run of [...waiting]) run();
    },
  };
}
