import type { ProtocolError } from '../../protocol/index.ts';
import type { Asker } from './effects.ts';

/** Something that was asked for, over either wire. */
export class Post implements Asker {
  /** Resolves, when its turn comes, with the place in the log before its first chunk; rejects when it is refused. */
  readonly begun: Promise<number>;
  /** What the log calls the request. */
  readonly requestId: string | null;
  private readonly place: () => number;
  private from = 0;
  private resolve: (place: number) => void = () => undefined;
  private reject: (error: ProtocolError) => void = () => undefined;

  constructor(place: () => number, requestId: string | null) {
    this.place = place;
    this.requestId = requestId;
    this.begun = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  mark(): void {
    this.from = this.place();
  }

  begin(): void {
    this.resolve(this.from);
  }

  refuse(error: ProtocolError): void {
    this.reject(error);
  }
}
