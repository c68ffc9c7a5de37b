import type { AuthConfig, AuthCredential, BaseCredentialService, Context, Session } from '@google/adk';
import type { BeforeSignIn, CredentialSource } from '../../adk/for-server.ts';
import type { Question } from '../../protocol/index.ts';
import type { Clock } from '../clock.ts';
import { hashArgs } from '../ledger/approvals.ts';
import type { CallRecord, SessionKey } from '../store/store.ts';
import { authorizationUrl, exchangeCode, isExpired, newVerifier, tokenEndpointOf } from './oauth.ts';
import { Sealer } from './sealer.ts';

/** Options for sign-ins of users at OAuth providers, for tools that ask for a credential (`requestCredential` of ADK). */
export interface ToolSignInOptions {
  /** The address at which browsers reach `/sign-in/callback` of this server, as it is registered at the providers. */
  callbackUrl: string;
  /**
   * A secret of at least 16 random characters, the same on all nodes. It encrypts the state in the address of a sign-in, and the stored answer. Without it
   * the server encrypts with a random key of this process, so a user whose sign-in was open at a restart must begin it again.
   */
  secret?: string;
  /** How long a sign-in may take, in milliseconds; null means no limit. Default: 10 minutes. */
  timeoutMs?: number | null;
}

/** The facts about a sign-in that the server puts, encrypted, into the `state` of its address. */
export interface SignInState {
  key: SessionKey;
  callId: string;
  verifier: string;
  redirectUri: string;
  /** Whether the user had approved the call before the sign-in began. */
  isApproved: boolean;
  /** A text that identifies the credential configuration of the tool (`configurationOf`). The authorization code is exchanged only for an equal configuration. */
  configuration: string;
}

/** The code of a provider, with the facts that are needed to exchange it. It is stored, encrypted, as the answer of the call. */
interface SignInAnswer extends Omit<SignInState, 'key' | 'isApproved'> {
  code: string;
  before: BeforeSignIn;
}

const STATE = 'state';
const ANSWER = 'answer';

/** The credentials that tools ask for: the questions to the user, the answers, and the exchange of answers for tokens. */
export class ToolSignIns implements CredentialSource {
  readonly timeoutMs: number | null;
  private readonly sealer: Sealer;
  private readonly callbackUrl: string | undefined;
  private readonly service: BaseCredentialService;
  /** False with the option `confirmations: "tool"`: the tool calls that then ask the user have no field for the address of a provider. */
  private readonly canAsk: boolean;
  private readonly clock: Clock;

  constructor(
    options: ToolSignInOptions | undefined,
    { service, clock, canAsk }: { service: BaseCredentialService; clock: Clock; canAsk: boolean },
  ) {
    this.canAsk = canAsk;
    this.callbackUrl = options?.callbackUrl;
    this.timeoutMs = options?.timeoutMs === undefined ? 10 * 60_000 : options.timeoutMs;
    this.sealer = new Sealer(options?.secret);
    this.service = service;
    this.clock = clock;
  }

  question(
    config: AuthConfig,
    { appName: app, userId: user, id }: Session,
    callId: string,
    isApproved: boolean,
  ): Question {
    const { oauth2 } = config.exchangedAuthCredential ?? {};
    const { type } = config.authScheme;
    if (type !== 'oauth2' && type !== 'openIdConnect')
      throw new Error(
        `The tool asks for a credential of the scheme "${type}". Only oauth2 and openIdConnect with an authorization code are supported.`,
      );
    if (!this.canAsk)
      throw new Error('The tool asks the user to sign in, which needs the option confirmations: "approval".');
    const redirectUri = oauth2?.redirectUri || this.callbackUrl;
    if (redirectUri === undefined)
      throw new Error(
        'The tool asks the user to sign in, and the server has no address to come back to: set the option toolSignIn.callbackUrl.',
      );
    const verifier = newVerifier();
    const key = { app, user, id };
    const configuration = configurationOf(config);
    const state: SignInState = { key, callId, verifier, redirectUri, isApproved, configuration };
    const sealed = this.sealer.seal(STATE, state);
    try {
      tokenEndpointOf(config);
      const url = authorizationUrl(oauth2?.authUri ?? '', { state: sealed, redirectUri, verifier });
      return { kind: 'sign-in', url, message: `Sign in at ${new URL(url).host} to continue.` };
    } catch (error) {
      throw new Error(`The user cannot sign in: ${(error as Error).message}.`);
    }
  }

  async saved(config: AuthConfig, context: Context): Promise<AuthCredential | undefined> {
    const found = await this.service.loadCredential(config, context);
    return found && !isExpired(found, this.clock.now()) ? found : undefined;
  }

  before(answer: unknown): BeforeSignIn | null {
    return this.answerIn(answer)?.before ?? null;
  }

  async exchange(config: AuthConfig, answer: unknown, context: Context): Promise<AuthCredential | undefined> {
    const given = this.answerIn(answer);
    if (given?.configuration !== configurationOf(config)) return undefined;
    const credential = await exchangeCode(config, given, () => this.clock.now()).catch((error: Error) => {
      throw new Error(`The sign-in failed: ${error.message}.`);
    });
    await this.service.saveCredential({ ...config, exchangedAuthCredential: credential }, context);
    return credential;
  }

  /** Decrypts the `state` that came back from a provider; null when this server did not make it. */
  stateIn(sealed: unknown): SignInState | null {
    return this.sealer.open(STATE, sealed) as SignInState | null;
  }

  /** Encrypts the code of a provider as the answer of the call. */
  answerFor(
    { callId, verifier, redirectUri, isApproved, configuration }: SignInState,
    code: string,
    call: CallRecord,
  ): string {
    // A call can ask for one sign-in only, so `call.answer` is the user's own answer to what the call asked before.
    const before = { isApproved, answer: call.answer };
    const given: SignInAnswer = { callId, verifier, redirectUri, configuration, code, before };
    return this.sealer.seal(ANSWER, given);
  }

  /** Whether an answer proves that the user has signed in for this call: only `answerFor` can have made it. */
  proves({ id }: CallRecord, answer: unknown): boolean {
    return this.answerIn(answer)?.callId === id;
  }

  private answerIn(answer: unknown): SignInAnswer | null {
    return this.sealer.open(ANSWER, answer) as SignInAnswer | null;
  }
}

/** A text that is equal for equal configurations: the same key, provider, scopes and client. */
function configurationOf({ credentialKey, authScheme, rawAuthCredential }: AuthConfig): string {
  const { clientId = null } = rawAuthCredential?.oauth2 ?? {};
  return hashArgs({ credentialKey, authScheme, clientId });
}
