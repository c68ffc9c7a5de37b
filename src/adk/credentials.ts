import type { AuthConfig, AuthCredential, Context, Session } from '@google/adk';
import type { Question } from '../protocol/index.ts';

/** What a call had before its tool asked for a credential: an approval of the user, and the answer that the user sent to the tool with the approval. */
export interface BeforeSignIn {
  isApproved: boolean;
  answer: unknown;
}

/** The source of the credentials that tools request with `requestCredential`. */
export interface CredentialSource {
  /**
   * The question that asks the user to sign in. `isApproved`: the user has approved the call already; `before` returns this later. Throws an error with a
   * clear text when the server cannot ask.
   */
  question(config: AuthConfig, session: Session, callId: string, isApproved: boolean): Question;
  /** The credential that an earlier sign-in of the user saved; undefined when there is none, or when it has expired. */
  saved(config: AuthConfig, context: Context): Promise<AuthCredential | undefined>;
  /**
   * Exchanges the user's answer to a sign-in for a credential, and saves it. Undefined when `answer` is no answer to a sign-in with this configuration.
   * Throws an error with a clear text when the exchange fails.
   */
  exchange(config: AuthConfig, answer: unknown, context: Context): Promise<AuthCredential | undefined>;
  /** What the call had before its sign-in; null when `answer` is no answer to a sign-in. */
  before(answer: unknown): BeforeSignIn | null;
}

/**
 * Returns the configuration of the credential that a tool requested while it ran; undefined when it requested none. Removes the request from the context,
 * because the server asks the user instead of ADK.
 */
export function takeCredentialRequest({ actions }: Context, callId: string): AuthConfig | undefined {
  const requested = actions.requestedAuthConfigs;
  const config = requested && Object.hasOwn(requested, callId) ? requested[callId] : undefined;
  if (config) delete requested[callId];
  return config;
}

/** The key of the session state under which ADK's `getAuthResponse` finds a credential. No key with this prefix is ever stored. */
function stateKeyOf({ credentialKey }: AuthConfig): string {
  return `temp:${credentialKey}`;
}

/** The credentials that the tool of a call has got so far. It requests one after the other, and runs again with all of them. */
export class LentCredentials {
  private readonly byKey = new Map<string, AuthCredential>();

  /** Whether the tool has a credential for this configuration. If it requests that credential all the same, the provider did not accept it. */
  has(config: AuthConfig): boolean {
    return this.byKey.has(stateKeyOf(config));
  }

  get isEmpty(): boolean {
    return this.byKey.size === 0;
  }

  add(config: AuthConfig, credential: AuthCredential): void {
    this.byKey.set(stateKeyOf(config), credential);
  }

  /** A copy of the session with the credentials in its state, where a tool finds them. */
  copyInto(session: Session): Session {
    return { ...session, state: { ...session.state, ...Object.fromEntries(this.byKey) } };
  }

  /** Puts the credentials into the state of a session while `work` runs. */
  async lendTo<T>({ state }: Session, work: () => Promise<T>): Promise<T> {
    Object.assign(state, Object.fromEntries(this.byKey));
    try {
      return await work();
    } finally {
      for (const key of this.byKey.keys()) delete state[key];
    }
  }
}

/**
 * Wraps a source for the calls that an agent makes while it is used as a tool. Their sign-ins belong to `outer`, the session of the conversation, because
 * the session of the agent is not the one that the user sees.
 */
export function credentialsInside(source: CredentialSource, outer: Session): CredentialSource {
  return {
    question: (config, _session, callId, isApproved) => source.question(config, outer, callId, isApproved),
    saved: (config, context) => source.saved(config, context),
    exchange: (config, answer, context) => source.exchange(config, answer, context),
    before: (answer) => source.before(answer),
  };
}

/** The source of a `GatePlugin` that gets no other: it has no saved credential and no user to ask, so a tool that requests a credential fails. */
export const NO_CREDENTIALS: CredentialSource = {
  question() {
    throw new Error('The tool requests a credential, but it runs where no user can be asked for one.');
  },
  saved: async () => undefined,
  exchange: async () => undefined,
  before: () => null,
};
