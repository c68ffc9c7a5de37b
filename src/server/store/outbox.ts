import type { SessionKey } from './keys.ts';

/** An event that the store keeps for a subscription until it is delivered. The transaction that stores the reported change also stores the event. */
export interface OutboxEvent {
  subscription: string;
  /** Unique within the subscription and the session. */
  id: string;
  /** The event as JSON. */
  data: string;
}

/** How many events to claim, and for how long. */
export interface ClaimRequest {
  /** How long the claim lasts, in milliseconds, unless `keepClaim` extends it or `endClaim` ends it. */
  leaseMs: number;
  /** The largest number of queues. */
  queues: number;
  /** The largest number of events of a queue. */
  events: number;
}

/** The events of one session for one subscription, claimed: no other claim gets events of this queue until the claim ends. */
export interface ClaimedEvents {
  /** The id of the claim. */
  claim: string;
  /** The number of the queue in the store. */
  queue: number;
  /** How many times the queue was claimed since its last delivery, this claim included. */
  attempts: number;
  /** Oldest first. */
  events: Pick<OutboxEvent, 'id' | 'data'>[];
}

/**
 * The part of a store that keeps application events until they are delivered. The events of one session for one subscription are a queue, in the order of the
 * writes that stored them. Deleting the session does not remove the events. Every method is one transaction.
 */
export interface OutboxStore {
  /** Adds events of a session. An event whose id is already in its queue is not added again. */
  keepEvents(key: SessionKey, events: readonly OutboxEvent[]): Promise<void>;
  /** Claims queues that no other claim holds and whose retry time (`endClaim`) has come. The queues that have been due longest come first. */
  claimEvents(app: string, subscription: string, request: ClaimRequest): Promise<ClaimedEvents[]>;
  /** Makes a claim end `leaseMs` from now, and removes the event with the id `delivered` from the queue. False, without a change, when the claim has ended. */
  keepClaim(claimed: ClaimedEvents, leaseMs: number, delivered?: string): Promise<boolean>;
  /** Ends a claim. The queue is due again in `retryMs`; without it at once. Does nothing when the claim has ended. */
  endClaim(claimed: ClaimedEvents, retryMs?: number): Promise<void>;
  /** Removes the events of a subscription that are older than the time `before`, and all but the newest `count` events. Returns how many it removed. */
  trimEvents(app: string, subscription: string, limits: { before: number; count: number }): Promise<number>;
}
