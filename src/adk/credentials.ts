import type { AuthConfig, AuthCredential, Context, Session } from '@google/adk';
import type { Question } from '../protocol/index.ts';

/** What a call had before its tool asked for a credential: an approval of the user, and what the user sent to the tool with it. */
export interface BeforeSignIn {
  isApproved: boolean;
  answer: unknown;
}

/** Where the credentials come from that tools ask for with `requestCredential`. */
export interface CredentialSource {
  /** The question that asks the user to sign in. Throws, in words, when the server cannot ask. */
  question(config: AuthConfig, session: Session, callId: string, isApproved: boolean): Question;
  /** A valid credential of the user from an earlier sign-in; undefined when there is none. */
  saved(config: AuthConfig, context: Context): Promise<AuthCredential | undefined>;
  /** The credential that the answer of the user gives, which is saved too; undefined when the answer is not one to a sign-in. Throws in words. */
  exchange(config: AuthConfig, answer: unknown, context: Context): Promise<AuthCredential | undefined>;
  /** What the call had before its sign-in; null when the answer is not one to a sign-in. */
  before(answer: unknown): BeforeSignIn | null;
}

/** Returns the credential that a tool requested while it ran. Removes the request from the context: the server asks instead of ADK. */
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

/** The session with a credential in its state, where a tool finds it. */
export function withCredential(session: Session, config: AuthConfig, credential: AuthCredential): Session {
  return { ...session, state: { ...session.state, [stateKeyOf(config)]: credential } };
}

/** Lends a credential to the state of a session while `work` runs. */
export async function lendCredential<T>(
  { state }: Session,
  config: AuthConfig,
  credential: AuthCredential,
  work: () => Promise<T>,
): Promise<T> {
  const key = stateKeyOf(config);
  state[key] = credential;
  try {
    return await work();
  } finally {
    delete state[key];
  }
}

/** The same source for calls inside an agent that is used as a tool: the sign-in belongs to the session of the conversation, not to that of the agent. */
export function credentialsInside(source: CredentialSource, outer: Session): CredentialSource {
  return {
    question: (config, _session, callId, isApproved) => source.question(config, outer, callId, isApproved),
    saved: (config, context) => source.saved(config, context),
    exchange: (config, answer, context) => source.exchange(config, answer, context),
    before: (answer) => source.before(answer),
  };
}

/** The source of a plugin that no server made: it has no user to ask. */
export const NO_CREDENTIALS: CredentialSource = {
  question() {
    throw new Error('The tool asks for a credential, and no server asks the user for it.');
  },
  saved: async () => undefined,
  exchange: async () => undefined,
  before: () => null,
};
