import {
  BaseLlm,
  type BaseLlmConnection,
  Gemini,
  isBaseLlm,
  isLlmAgent,
  LLMRegistry,
  type LlmRequest,
  type LlmResponse,
} from '@google/adk';
import { allAgentsIn } from '../adk/agent-tree.ts';
import type { AgentRoot } from '../adk/agents.ts';
import { takeLiveFastPath } from '../adk/request-hooks.ts';
import { isLiveModelName } from './gemini/families.ts';
import { DuologueGemini } from './gemini/index.ts';
import { connectGemini, type GeminiLiveOptions, keepsStockConnection } from './gemini/live-provider.ts';
import { guardConnection } from './live/guard.ts';
import { TurnBasedLiveConnection } from './live/turn-based.ts';
import { callModel } from './model-call.ts';
import { failedWith } from './provider-error.ts';
import type { RetryPolicy } from './retry-policy.ts';

/** ADK treats a model as Gemini if it has this property with the value true. */
const GEMINI = Symbol.for('google.adk.geminiModel');

export interface AdkSafeOptions {
  /** Options of the live connections to Gemini. */
  live?: GeminiLiveOptions;
  /** Timeouts, and how often a failed call is repeated. */
  retryPolicy?: Partial<RetryPolicy>;
}

/**
 * Wraps a model so that each call yields partial texts and exactly one final response, and so that a live run can use any model. The property `nativeLive`
 * of a model says whether it has a live connection of its own; without this property, a `Gemini` with the name of a live model has one. Every other model is
 * called turn by turn in a live run.
 */
export class AdkSafeModel extends BaseLlm {
  private readonly resolve: () => BaseLlm;
  private readonly options: AdkSafeOptions;
  private resolved: BaseLlm | undefined;

  constructor(model: BaseLlm | { name: string; create: () => BaseLlm }, options: AdkSafeOptions = {}) {
    super({ model: isBaseLlm(model) ? model.model : model.name });
    this.resolve = isBaseLlm(model) ? () => model : model.create;
    this.options = options;
    // With the Interactions API, Google stores the conversation. ADK sends the id of the previous interaction only for a model that it recognises as
    // Gemini.
    if (model instanceof Gemini && model.useInteractionsApi) {
      Object.assign(this, { [GEMINI]: true, useInteractionsApi: true });
    }
  }

  /**
   * The wrapped model. A model given by name is created at its first use. So a missing key fails the first call, and not the import of the application's
   * code.
   */
  get inner(): BaseLlm {
    this.resolved ??= this.resolve();
    return this.resolved;
  }

  /** Whether a live run uses the model's own live connection. Otherwise it uses a `TurnBasedLiveConnection`. */
  get nativeLive(): boolean {
    return isNativeLive(liveOf(this.inner));
  }

  /** Whether the model can only be used live. A live model that can also be called turn by turn declares `liveOnly: false`. */
  get liveOnly(): boolean {
    // The name of a live model decides before the model is created. Creating it throws if its key is missing, and the result would then be false.
    if (!this.resolved && isLiveModelName(this.model)) return true;
    try {
      const { liveOnly } = this.inner as { liveOnly?: unknown };
      return liveOnly === undefined ? isNativeLive(this.inner) : liveOnly === true;
    } catch {
      return false;
    }
  }

  override generateContentAsync(
    request: LlmRequest,
    stream?: boolean,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    const { retryPolicy } = this.options;
    try {
      return callModel(this.inner, request, { stream, signal, retryPolicy });
    } catch (error) {
      return notMade(error);
    }
  }

  override async connect(request: LlmRequest): Promise<BaseLlmConnection> {
    const { retryPolicy, live } = this.options;
    const model = liveOf(this.inner);
    const fastPath = takeLiveFastPath(request);
    // `request.model` is the name of the model for turns, and Gemini calls the model of that name. So a separate live model gets a request with its own
    // name.
    const own = model === this.inner ? request : { ...request, model: model.model };
    if (!isNativeLive(model)) return new TurnBasedLiveConnection(model, own, { retryPolicy, fastPath });
    const isOurs = model instanceof DuologueGemini;
    const connection =
      model instanceof Gemini && (isOurs || keepsStockConnection(model))
        ? await connectGemini(model, own, { ...timeOf(retryPolicy), ...live, ...(isOurs ? model.live : {}) })
        : await model.connect(own);
    return guardConnection(connection, own);
  }
}

/** Wraps a model so that each call returns exactly one final response and every model can be used live. */
export function adkSafe(model: BaseLlm, options?: AdkSafeOptions): BaseLlm {
  return model instanceof AdkSafeModel ? model : new AdkSafeModel(model, options);
}

/** Yields an error response when the model could not be created, e.g. because its key is missing. ADK would drop the code of a thrown error. */
async function* notMade(error: unknown): AsyncGenerator<LlmResponse, void> {
  const { code, message } = failedWith(error);
  yield { errorCode: code, errorMessage: message };
}

/** Returns `timer` and `random` of the retry policy as options of a live connection. */
function timeOf({ timer, random }: Partial<RetryPolicy> = {}): GeminiLiveOptions {
  return { ...(timer ? { timer } : {}), ...(random ? { random } : {}) };
}

function isNativeLive(model: BaseLlm): boolean {
  const { nativeLive } = model as { nativeLive?: unknown };
  if (typeof nativeLive === 'boolean') return nativeLive;
  return model instanceof Gemini && isLiveModelName(model.model);
}

/** Combines two models: `turn` is called turn by turn, `live` serves live runs. */
export function pairOf(turn: BaseLlm, live: BaseLlm): BaseLlm {
  return turn === live ? turn : new PairModel(turn, live);
}

/** The model that serves live runs: the live model of a pair, otherwise the model itself. */
function liveOf(model: BaseLlm): BaseLlm {
  return model instanceof PairModel ? model.live : model;
}

class PairModel extends BaseLlm {
  readonly live: BaseLlm;
  private readonly turn: BaseLlm;

  constructor(turn: BaseLlm, live: BaseLlm) {
    super({ model: turn.model });
    this.turn = turn;
    this.live = live;
  }

  override generateContentAsync(
    request: LlmRequest,
    stream?: boolean,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    return this.turn.generateContentAsync({ ...request, model: this.turn.model }, stream, signal);
  }

  override connect(request: LlmRequest): Promise<BaseLlmConnection> {
    return this.live.connect({ ...request, model: this.live.model });
  }
}

/** Wraps the model of every LLM agent of a tree, and of every agent that runs inside a tool there. A second call changes nothing. */
export function instrumentModels(root: AgentRoot, options?: AdkSafeOptions): void {
  for (const agent of allAgentsIn(root)) {
    if (!isLlmAgent(agent) || !agent.model) continue;
    const { model } = agent;
    if (isBaseLlm(model)) agent.model = adkSafe(model, options);
    else if (typeof model === 'string') {
      agent.model = new AdkSafeModel({ name: model, create: () => LLMRegistry.newLlm(model) }, options);
    }
  }
}
