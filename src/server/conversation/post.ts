import type { ProtocolError } from '../../protocol/index.ts';
import type { Requester } from '../registry/session.ts';
import type { AcceptedRequest } from '../store/store.ts';
import type { Asker } from './machine/effects.ts';

/** What a request is called: by its client, and in the log. */
export interface RequestNames {
  name?: string | undefined;
  logged?: string | undefined;
  /** The connection that it came over. */
  connection?: string | undefined;
}

/** Something that was asked for, over either wire. */
export class Post implements Asker {
  /** Resolves, when its turn comes, with the place in the log before its first chunk; rejects when it is refused. */
  readonly begun: Promise<number>;
  readonly name: string | undefined;
  readonly connection: string | null;
  /** What the log calls the request. */
  readonly logged: string | null;
  /** How it was stored, once it was. */
  acceptance: AcceptedRequest | null = null;
  private readonly place: () => number;
  private clients: Requester[] = [];
  private from = 0;
  private resolve: (place: number) => void = () => undefined;
  private reject: (error: ProtocolError) => void = () => undefined;

  constructor(place: () => number, { name, logged, connection }: RequestNames = {}) {
    this.place = place;
    this.name = name;
    this.logged = logged ?? null;
    this.connection = connection ?? null;
    this.begun = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** A client asks for this, for the first time or again. */
  join(client: Requester): void {
    if (this.acceptance) client.accepted(this.acceptance);
    else this.clients.push(client);
  }

  mark(): void {
    this.from = this.place();
  }

  begin(): void {
    this.resolve(this.from);
  }

  accept(accepted: AcceptedRequest): void {
    this.acceptance = accepted;
    // There is nothing more to tell, and connections come and go.
    for (const client of this.clients.splice(0)) client.accepted(accepted);
  }

  tell(error: ProtocolError): void {
    for (const client of this.clients) client.told(error.about(this.name));
  }

  refuse(error: ProtocolError): void {
    this.reject(error);
  }
}
