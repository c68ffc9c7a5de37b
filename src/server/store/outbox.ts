import type { SessionKey } from './keys.ts';

/** An event as the store keeps it for a subscription, from the write of its fact until it is delivered. */
export interface OutboxEvent {
  subscription: string;
  /** Unique within the subscription and the session. */
  id: string;
  /** JSON. */
  data: string;
}

/** How many events to claim, and for how long. */
export interface ClaimRequest {
  /** When the claim ends, unless it is kept, in milliseconds. */
  leaseMs: number;
  /** The largest number of queues. */
  queues: number;
  /** The largest number of events of a queue. */
  events: number;
}

/** The events of one session for one subscription, claimed: no other claim gets events of this queue until the claim ends. */
export interface ClaimedEvents {
  /** Names the claim. */
  claim: string;
  queue: number;
  /** How often the first event was claimed since the event before it was delivered, this time included. */
  attempts: number;
  /** Oldest first. */
  events: Pick<OutboxEvent, 'id' | 'data'>[];
}

/**
 * The part of a store that keeps events until they are delivered. The events of a session for a subscription are one queue, in the order of the writes that stored them. They outlive their
 * session. Every method is one transaction.
 */
export interface OutboxStore {
  /** Adds events of a session. Those that have the id of an event in their queue are not added again. */
  keepEvents(key: SessionKey, events: readonly OutboxEvent[]): Promise<void>;
  /** Claims the queues that are due: no claim of them lasts, and none waits for another attempt. Those due longest come first. */
  claimEvents(app: string, subscription: string, request: ClaimRequest): Promise<ClaimedEvents[]>;
  /** Keeps a claim for `leaseMs` from now on, and removes the event that was delivered. False when the claim has ended: then nothing is changed. */
  keepClaim(claimed: ClaimedEvents, leaseMs: number, delivered?: string): Promise<boolean>;
  /** Ends a claim. The queue is due again in `retryMs`; without it at once. Does nothing when the claim has ended. */
  endClaim(claimed: ClaimedEvents, retryMs?: number): Promise<void>;
  /** Removes the events of a subscription that were stored before a time, and all but the newest `count`. Returns how many were removed. */
  trimEvents(app: string, subscription: string, limits: { before: number; count: number }): Promise<number>;
}
