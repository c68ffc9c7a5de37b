import type { Clock } from '../../../src/server/clock.ts';
import type { Store } from '../../../src/server/index.ts';

/** A store as a process sees it that dies: from then on nothing that it wants is done, and nothing comes back. */
export interface MortalStore {
  store: Store;
  /** How often something was written. */
  readonly writes: number;
  readonly isDead: boolean;
  /** The process dies. */
  die(): void;
  /** What the dead process waits for will not come: it may be cleaned up. */
  bury(): void;
}

/** What only looks. */
const READS = /^(find|list|load|openCalls|acceptedRequests|waitingMessages)/;

/** Lets a process die with what it has of the store: when it is told to, or right after so many writes. */
export function mortalStore(
  inner: Store,
  { maxWrites, onDeath }: { maxWrites?: number; onDeath?: () => void } = {},
): MortalStore {
  let isDead = false;
  let isBuried = false;
  let writes = 0;
  const waiting: (() => void)[] = [];
  const never = () =>
    new Promise<never>((_, reject) => {
      const end = () => reject(new Error('The process is dead.'));
      if (isBuried) end();
      else waiting.push(end);
    });
  const die = () => {
    isDead = true;
    onDeath?.();
  };
  const store = new Proxy(inner, {
    get(target, name: keyof Store & string) {
      if (name === 'close') return async () => undefined;
      const method = target[name] as (...args: never[]) => Promise<unknown>;
      return (...args: never[]) => {
        if (isDead) return never();
        if (READS.test(name)) return method(...args);
        writes++;
        if (writes !== maxWrites) return method(...args);
        die();
        // It is written, and nobody hears of it any more.
        return method(...args).then(never);
      };
    },
  });
  return {
    store,
    get writes() {
      return writes;
    },
    get isDead() {
      return isDead;
    },
    die,
    bury: () => {
      isBuried = true;
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
