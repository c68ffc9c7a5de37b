import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { NodePlace } from '../store/store.ts';

/** A service that a node needs for its work: the store that all nodes share, or the hub. */
export type NodeEngine = 'store' | 'hub';

/** The objects and callbacks that `Fitness` gets from its node. */
export interface FitnessContext {
  clock: Clock;
  logger: Logger;
  /** Whether the lease may have ended, because the store could not be reached. */
  isStoreAway: () => boolean;
  /** Why the hub cannot be used at the moment; null when the hub can be used, or when there is no hub. */
  hubFault: () => string | null;
  /** The other nodes that this node believes to be alive. */
  others: () => readonly NodePlace[];
  /** Asks another node whether it can use its store and hub. */
  isFit: (node: NodePlace) => Promise<boolean>;
  /** Called when this node cannot use the store or the hub (`away`) and another node can: the conversations of this node should move there. */
  onUnfit: (away: readonly NodeEngine[]) => void;
}

const CHECK_MS = 1000;
/** How long a restart of the hub may take. Conversations move to other nodes only after this time. */
const RESTART_MS = 2000;

/**
 * Tracks whether this node can use the store and the hub. While it cannot, it looks for a node that can. If there is one, requests are forwarded to it and
 * conversations move there. If there is none, because no node can reach the store or the hub, everything stays where it is.
 */
export class Fitness {
  readonly #context: FitnessContext;
  #cancel: () => void = () => undefined;
  #hubAwaySince: number | null = null;
  #fit: readonly NodePlace[] = [];
  #asked = 0;

  constructor(context: FitnessContext) {
    this.#context = context;
    this.#checkLater();
  }

  /** Which of the store and the hub this node cannot use at the moment. */
  get away(): NodeEngine[] {
    const { clock, isStoreAway } = this.#context;
    const isHubAway = this.#hubAwaySince !== null && clock.elapsed() - this.#hubAwaySince >= RESTART_MS;
    return [...(isStoreAway() ? (['store'] as const) : []), ...(isHubAway ? (['hub'] as const) : [])];
  }

  /** Whether the store or the hub fails at this moment, even if only for a short time. Other nodes should not move sessions to this node then. */
  get isTroubled(): boolean {
    return this.#context.isStoreAway() || this.#context.hubFault() !== null;
  }

  /** A node that can handle requests while this one cannot; null when there is none. With several such nodes, each call returns the next one. */
  get refuge(): NodePlace | null {
    return this.#fit[this.#asked++ % this.#fit.length] ?? null;
  }

  close(): void {
    this.#cancel();
  }

  #checkLater(): void {
    this.#cancel = this.#context.clock.after(CHECK_MS, () => {
      this.#checkLater();
      this.#check().catch((error: unknown) => {
        this.#context.logger.error(
          'could not check whether this node can use store and hub: the check is repeated',
          {
            error: String(error),
          },
        );
      });
    });
  }

  async #check(): Promise<void> {
    const { clock, logger, hubFault, others, isFit, onUnfit } = this.#context;
    if (hubFault() === null) this.#hubAwaySince = null;
    else this.#hubAwaySince ??= clock.elapsed();
    if (this.away.length === 0) {
      this.#fit = [];
      return;
    }
    const fit = await Promise.all(others().map(async (node) => ((await isFit(node)) ? [node] : [])));
    const { away } = this;
    const hadNone = this.#fit.length === 0;
    this.#fit = away.length > 0 ? fit.flat() : [];
    if (!hadNone || this.#fit.length === 0) return;
    logger.warn('this node cannot use store or hub: its conversations move to other nodes; see away', {
      away: away.join(', '),
      hub: hubFault() ?? 'ok',
    });
    onUnfit(away);
  }
}
