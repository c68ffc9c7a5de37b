import type { Clock } from '../../../src/server/clock.ts';
import type { Store } from '../../../src/server/index.ts';

/** A store of a simulated process that can die: from then on its calls have no effect and never resolve. */
export interface MortalStore {
  store: Store;
  /** The number of writes. */
  readonly writes: number;
  readonly isDead: boolean;
  /** The process dies. */
  die(): void;
  /** Rejects the pending calls of the dead process, so that it can be cleaned up. */
  bury(): void;
}

/** Methods that only read. */
const READS = /^(find|list|load|openCalls|acceptedRequests|waitingMessages)/;

/** Wraps a store for a process that dies on `die()` or right after `maxWrites` writes. */
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
        // The write is carried out, but the process never receives the result.
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

/** A real clock until `hurry()`: from then on all timers fire at once. */
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
