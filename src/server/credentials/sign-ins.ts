import type { AuthConfig, AuthCredential, BaseCredentialService, Context, Session } from '@google/adk';
import type { BeforeSignIn, CredentialSource } from '../../adk/for-server.ts';
import type { Question } from '../../protocol/index.ts';
import type { Clock } from '../clock.ts';
import type { CallRecord, SessionKey } from '../store/store.ts';
import { authorizationUrl, exchangeCode, isExpired, newVerifier, tokenEndpointOf } from './oauth.ts';
import { Sealer } from './sealer.ts';

/** Options of sign-ins at providers of tools (`requestCredential` of ADK). */
export interface ToolSignInOptions {
  /** The address at which browsers reach `/sign-in/callback` of this server, as it is registered at the providers. */
  callbackUrl: string;
  /**
   * A secret of any form, the same for all nodes. It encrypts what the server keeps of a sign-in. Without it the key lasts as long as the process: a sign-in
   * that is open when the process ends has to be begun again.
   */
  secret?: string;
  /** How long a sign-in may take, in milliseconds; null means no limit. Default: 10 minutes. */
  timeoutMs?: number | null;
}

/** What a sign-in at a provider is about: the state in its address. */
export interface SignInState {
  key: SessionKey;
  callId: string;
  verifier: string;
  redirectUri: string;
  /** Whether the user had approved the call before. */
  isApproved: boolean;
}

/** What came back from a provider. It is stored, sealed, as the answer of the call. */
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
  /** Whether clients get approval requests. Confirmations, which are separate tool calls, have no place for an address. */
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
    const state: SignInState = { key: { app, user, id }, callId, verifier, redirectUri, isApproved };
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
    if (!given) return undefined;
    const credential = await exchangeCode(config, given, () => this.clock.now()).catch((error: Error) => {
      throw new Error(`The sign-in failed: ${error.message}.`);
    });
    await this.service.saveCredential({ ...config, exchangedAuthCredential: credential }, context);
    return credential;
  }

  /** The state in the address with which a browser came back; null when this server did not make it. */
  stateIn(sealed: unknown): SignInState | null {
    return this.sealer.open(STATE, sealed) as SignInState | null;
  }

  /** The answer to store for what a provider sent back. */
  answerFor(
    { callId, verifier, redirectUri, isApproved }: SignInState,
    code: string,
    call: CallRecord,
  ): string {
    // The tool may ask for several credentials in turn: then the answer of the call is the one to the sign-in before.
    const answer = this.answerIn(call.answer)?.before.answer ?? call.answer;
    const given: SignInAnswer = { callId, verifier, redirectUri, code, before: { isApproved, answer } };
    return this.sealer.seal(ANSWER, given);
  }

  /** Whether an answer shows that the user has signed in for this call: it was sealed here, by the callback. */
  proves({ id }: CallRecord, answer: unknown): boolean {
    return this.answerIn(answer)?.callId === id;
  }

  private answerIn(answer: unknown): SignInAnswer | null {
    return this.sealer.open(ANSWER, answer) as SignInAnswer | null;
  }
}
