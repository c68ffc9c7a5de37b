import { type Clock, settlesWithin } from '../clock.ts';
import type { Logger } from '../logger.ts';

/** The user of a request, with the token by which the application checks later whether the user is still signed in. */
export interface Identity {
  user: string;
  /** What `authenticate` returned with the user: a session id, an expiry, anything. It stays in memory. */
  token?: unknown;
  /**
   * For a decision that did not come over a connection of `user`: the name of the application that made it, or `sign-in` for a completed sign-in. Then the server
   * does not check whether `user` is still signed in.
   */
  application?: string;
}

/** Returns whether a user is still signed in. It may be called outside of any request, so it gets only the identity. */
export type StillSignedIn = (identity: Identity) => boolean | Promise<boolean>;

/** The answer of the application: `unknown` when it failed or took too long. */
export type SignInStatus = 'signed-in' | 'signed-out' | 'unknown';

/** The error text for a user who has signed out. */
export const NO_LONGER_SIGNED_IN = 'You are no longer signed in.';

/** How often the server checks the sign-in of the user of an open connection. */
const EVERY_MS = 60_000;
/** How long the application may take to answer. */
const ANSWER_SECONDS = 5;

/** Asks the application (`stillSignedIn`) whether users are still signed in, because a connection or an approval may outlive a sign-in. */
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

  /** Whether the application has the option `stillSignedIn`, so that it can be asked. */
  get isAsked(): boolean {
    return this.stillSignedIn !== undefined;
  }

  /** Asks whether a user is still signed in. Never rejects. If the user has signed out, calls the `onSignedOut` of `watch` for this identity. */
  async ask(identity: Identity): Promise<SignInStatus> {
    const { stillSignedIn, clock, logger } = this;
    // An application that decides in the name of a user vouches for that user.
    if (!stillSignedIn || identity.application !== undefined) return 'signed-in';
    let isSignedIn: unknown;
    try {
      const answer = Promise.resolve(stillSignedIn(identity)).then((value) => {
        isSignedIn = value;
      });
      if (!(await settlesWithin(answer, ANSWER_SECONDS * 1000, clock)))
        throw new Error(`stillSignedIn did not answer within ${ANSWER_SECONDS} s.`);
    } catch (error) {
      logger.warn(
        'stillSignedIn failed: connections stay open, and decisions of users are rejected until it answers; check that function',
        {
          error: String(error),
        },
      );
      return 'unknown';
    }
    // An application in JavaScript may return a value of any type. Only `true` means signed in.
    if (isSignedIn === true) return 'signed-in';
    this.watched.get(identity)?.();
    return 'signed-out';
  }

  /**
   * Asks every minute whether the user is still signed in. Calls `onSignedOut` once, as soon as one of these checks, or any other call of `ask` with this
   * identity, finds that the user has signed out. The returned function stops watching.
   */
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
            this.logger.error(
              'the regular check of a sign-in stopped: an open connection of this user may stay open after a sign-out; decisions are still checked',
              {
                user: identity.user,
                error: String(error),
              },
            ),
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
