import { type Clock, settlesWithin } from '../clock.ts';
import type { Logger } from '../logger.ts';

/** Who made a request, and what shows later that they are still signed in. */
export interface Identity {
  user: string;
  /** What `authenticate` returned with the user: a session id, an expiry, anything. It stays in memory. */
  token?: unknown;
}

/** Asked later about someone who was signed in: no request is there to be shown again. */
export type StillSignedIn = (identity: Identity) => boolean | Promise<boolean>;

/** What is known: `unknown` when the application could not tell. */
export type Standing = 'signed-in' | 'signed-out' | 'unknown';

/** What someone is told who was signed in and is not any more. */
export const NO_LONGER_SIGNED_IN = 'You are no longer signed in.';

/** How often someone with an open connection is asked about. */
const EVERY_MS = 60_000;
/** How long the application may take to tell. */
const ANSWER_MS = 5000;

/** Asks the application whether people are still signed in: a connection, or an approval, can outlive that. */
export class SignIn {
  private readonly stillSignedIn: StillSignedIn | undefined;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly watched = new Map<Identity, () => void>();

  constructor(stillSignedIn: StillSignedIn | undefined, clock: Clock, logger: Logger) {
    this.stillSignedIn = stillSignedIn;
    this.clock = clock;
    this.logger = logger;
  }

  /** Whether there is anyone to ask. */
  get isAsked(): boolean {
    return this.stillSignedIn !== undefined;
  }

  /** Never rejects. Whoever is watched and signed out hears of it. */
  async ask(identity: Identity): Promise<Standing> {
    const { stillSignedIn, clock, logger } = this;
    if (!stillSignedIn) return 'signed-in';
    let isSignedIn: unknown;
    try {
      const answer = Promise.resolve(stillSignedIn(identity)).then((value) => {
        isSignedIn = value;
      });
      if (!(await settlesWithin(answer, ANSWER_MS, clock))) throw new Error('It did not answer in time.');
    } catch (error) {
      logger.warn('it is not known whether someone is still signed in', { error: String(error) });
      return 'unknown';
    }
    // Applications in JavaScript may give anything; only true is a yes.
    if (isSignedIn === true) return 'signed-in';
    this.watched.get(identity)?.();
    return 'signed-out';
  }

  /** Asks every minute, and calls back once when someone is signed out, whoever asked; the returned function ends that. */
  watch(identity: Identity, onSignedOut: () => void): () => void {
    if (!this.isAsked) return () => undefined;
    let cancel: () => void = () => undefined;
    const unwatch = () => {
      cancel();
      this.watched.delete(identity);
    };
    const next = () => {
      cancel = this.clock.after(EVERY_MS, () => {
        this.ask(identity)
          .then(() => {
            if (this.watched.has(identity)) next();
          })
          .catch((error: unknown) =>
            this.logger.error('someone is not watched any more', { error: String(error) }),
          );
      });
    };
    this.watched.set(identity, () => {
      unwatch();
      onSignedOut();
    });
    next();
    return unwatch;
  }
}
