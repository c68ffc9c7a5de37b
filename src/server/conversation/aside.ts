import type { Chunk, ProtocolError } from '../../protocol/index.ts';
import type { Requester } from '../registry/session.ts';
import type { AcceptedRequest } from '../store/store.ts';

/** That a request was accepted, as its client is told. */
export function acceptedChunk({ requestId, messageId }: AcceptedRequest): Chunk {
  const data = { requestId, ...(messageId === null ? {} : { messageId }) };
  return { type: 'data-accepted', data, transient: true };
}

const NOTHING: readonly Chunk[] = [];

/** What only the client of one response is told, until it is. */
export class Aside implements Requester {
  private chunks: Chunk[] = [];

  accepted(accepted: AcceptedRequest): void {
    this.chunks.push(acceptedChunk(accepted));
  }

  told(error: ProtocolError): void {
    this.chunks.push({ type: 'data-error', data: error.toWire(), transient: true });
  }

  /** Asked for with every token: mostly there is nothing. */
  take(): readonly Chunk[] {
    return this.chunks.length === 0 ? NOTHING : this.chunks.splice(0);
  }
}
