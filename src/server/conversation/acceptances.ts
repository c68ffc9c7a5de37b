import type { AcceptedRequest } from '../store/store.ts';
import type { Asker } from './effects.ts';
import type { Parts } from './parts.ts';

/** That requests with names are taken: written down with what they ask for, and then told to whoever asked. */
export class Acceptances {
  private readonly parts: Parts;

  constructor(parts: Parts) {
    this.parts = parts;
  }

  /** What is written down of a request, if it has a name: the message that answers it, and how many parts that has so far. */
  of({ name }: Asker, messageId: string | null = null, parts = 0): AcceptedRequest | undefined {
    return name === undefined ? undefined : { requestId: name, messageId, parts };
  }

  /** Tells that a request is stored. */
  tell(asker: Asker, accepted: AcceptedRequest | undefined): void {
    if (accepted) this.parts.core.emit({ type: 'accept', asker, accepted });
  }

  /** Writes a request down by itself: nothing else is stored of it. */
  write(asker: Asker, accepted = this.of(asker)): void {
    if (!accepted) return;
    this.parts.core.storing([{ do: 'accept', accepted }], null, () => this.tell(asker, accepted));
  }
}
