import { ProtocolError } from '../../protocol/index.ts';
import type { NodePlace } from '../store/store.ts';

/** Thrown when another node owns the session of a request. The request must be forwarded to that node. */
export class Elsewhere extends Error {
  override readonly name = 'Elsewhere';
  readonly node: NodePlace;

  constructor(node: NodePlace) {
    super(`The node ${node.name} has this session.`);
    this.node = node;
  }
}

/** Thrown when this node cannot use the store, and knows no other node that can. The request had no effect. */
export class StoreAway extends ProtocolError {
  constructor() {
    super('overloaded', 'The database is unavailable. Try again in a few seconds.', { retryAfterMs: 2000 });
  }
}

/** Thrown for a request that arrives while the server closes. The request had no effect. */
export class ShuttingDown extends ProtocolError {
  constructor() {
    super('shutting_down', 'The server is restarting. Try again in a moment.', { retryAfterMs: 2000 });
  }
}

/**
 * Thrown when this node does not answer a request, because it is closing, or because another node owns the session and did not answer. This node has done
 * nothing for the request; the other node may have handled it.
 */
export class NotHere extends ProtocolError {
  constructor() {
    super('moved', 'This conversation is moving to another server. Try again in a moment.', {
      retryAfterMs: 1000,
    });
  }
}
