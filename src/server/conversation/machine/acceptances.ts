import { ProtocolError } from '../../../protocol/index.ts';
import type { AcceptedRequest } from '../../store/store.ts';
import type { Core } from './core.ts';
import type { Asker } from './effects.ts';

/** A request that is taken with something else that is stored, and begins only then. */
export interface Accepting {
  asker: Asker;
  accepted: AcceptedRequest;
}

/** That requests with names are taken: written down with what they ask for, and then told to whoever asked. */
export class Acceptances {
  private readonly parts: { readonly core: Core };

  constructor(parts: { readonly core: Core }) {
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

  /** A request is stored: it has begun, and whoever made it is told. */
  taken({ asker, accepted }: Accepting): void {
    this.parts.core.emit({ type: 'begun', asker });
    this.tell(asker, accepted);
  }

  /** What a request was to be taken with is over: it is stored by itself. */
  alone({ asker, accepted }: Accepting): void {
    this.write(asker, accepted);
    this.parts.core.emit({ type: 'begun', asker });
  }

  /** A request could not be stored. */
  notTaken({ asker }: Accepting): void {
    const error = new ProtocolError('internal', 'The answer could not be kept.');
    this.parts.core.emit({ type: 'refuse', asker, error });
  }

  /** Writes a request down by itself: nothing else is stored of it. */
  write(asker: Asker, accepted = this.of(asker)): void {
    if (!accepted) return;
    this.parts.core.storing([{ do: 'accept', accepted }], null, () => this.tell(asker, accepted));
  }
}
