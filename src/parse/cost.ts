import type { ParsedResponse, Usage } from './index.ts';
import { type Obj, obj, objects } from './json.ts';
import { usageOf } from './usage.ts';

/** The cost of a response in US dollars. The amounts are null when the cost is not known; `warnings` then has the reason. */
export interface Cost {
  usd: number | null;
  inputUsd: number | null;
  outputUsd: number | null;
  /** The model and the provider of the price that was used, as the price list names them. */
  model: string | null;
  provider: string | null;
  warnings: CostWarning[];
}

/** Why a cost is null, or why it may be wrong. */
export interface CostWarning {
  code: 'cost_model_unknown' | 'cost_usage_missing' | 'cost_usage_invalid' | 'cost_service_tier_ignored';
  message: string;
}

/** Facts about a call that its response does not state. */
export interface CostOptions {
  /** The model that was called. Needed for responses that do not name it (Bedrock, Cohere). */
  model?: string;
  /** When the call was made, for models whose prices changed. Default: `createdAt` of the record, else now. */
  at?: Date;
}

/** Computes costs with one loaded price list. */
export interface Pricer {
  /** Returns the cost of a record. It never throws. */
  costOf(record: ParsedResponse, options?: CostOptions): Cost;
}

type Prices = typeof import('@pydantic/genai-prices');
type Provider = ReturnType<Prices['findProvider']>;

/** Maps the parser's name of a provider to its name in the price list, where the two differ. */
const NAMES: Readonly<Record<string, string>> = {
  gemini: 'google',
  vertex: 'google',
  bedrock: 'aws',
  xai: 'x-ai',
};

function tokensOf(usage: Usage): Record<string, number> {
  const { billed } = usage;
  // Cohere charges fewer tokens than the model read and wrote.
  if (billed) return { input_tokens: billed.input ?? 0, output_tokens: billed.output ?? 0 };
  const searches =
    obj(usage.serverTools).web_search_requests ?? obj(obj(usage.serverTools).web_search).num_requests;
  const counts = {
    input_tokens: usage.input,
    output_tokens: usage.output,
    cache_read_tokens: usage.cacheRead,
    cache_write_tokens: usage.cacheWrite,
    cache_write_1h_tokens: usage.cacheWrite1h,
    // The counts by modality may exceed the total, and the price list throws when a part is larger than the whole.
    input_audio_tokens: Math.min(usage.modality?.input.audio ?? 0, usage.input ?? 0),
    output_audio_tokens: Math.min(usage.modality?.output.audio ?? 0, usage.output ?? 0),
    cache_audio_read_tokens: Math.min(usage.modality?.cacheRead?.audio ?? 0, usage.cacheRead ?? 0),
    web_searches: searches,
  };
  return Object.fromEntries(Object.entries(counts).filter((entry): entry is [string, number] => !!entry[1]));
}

/** Returns the model calls that the top-level counts do not include: Anthropic's compaction and advisor calls. */
function extraCalls(usage: Usage, model: string): { model: string; usage: Usage }[] {
  return objects(usage.iterations).flatMap((iteration: Obj) => {
    const counted = iteration.type === 'message' || iteration.type === 'fallback_message';
    const extra = counted ? null : usageOf(iteration);
    return extra === null
      ? []
      : [{ model: typeof iteration.model === 'string' ? iteration.model : model, usage: extra }];
  });
}

/**
 * Loads the price list and returns a pricer. The list is the package `@pydantic/genai-prices`, an optional peer dependency; the
 * promise is rejected when it is not installed.
 *
 * @example
 * const pricer = await createPricer();
 * for (const record of records) total += pricer.costOf(record).usd ?? 0;
 */
export async function createPricer(): Promise<Pricer> {
  const prices: Prices = await import('@pydantic/genai-prices');
  const known = new Map<string, Provider>();
  const providerOf = (name: string, modelId: string): Provider => {
    const key = `${name} ${modelId}`;
    if (!known.has(key)) {
      const providerId = NAMES[name.toLowerCase()] ?? name.toLowerCase();
      known.set(key, prices.findProvider({ providerId }) ?? prices.findProvider({ modelId }));
    }
    return known.get(key);
  };
  const price = (name: string, model: string, usage: Usage, timestamp: Date) => {
    const provider = providerOf(name, model);
    const found = provider && prices.calcPrice(tokensOf(usage), model, { provider, timestamp });
    // The prices of a provider that resells models may lack a model. Without a provider, the price list searches all providers for the model.
    return found ?? prices.calcPrice(tokensOf(usage), model, { timestamp });
  };
  return {
    costOf(record, options = {}) {
      const cost: Cost = {
        usd: null,
        inputUsd: null,
        outputUsd: null,
        model: null,
        provider: null,
        warnings: [],
      };
      const unknown = (code: CostWarning['code'], message: string): Cost => ({
        ...cost,
        usd: null,
        inputUsd: null,
        outputUsd: null,
        warnings: [{ code, message }],
      });
      const { usage } = record;
      const model = options.model ?? record.model;
      if (usage === null || usage.input === null || usage.output === null) {
        return unknown('cost_usage_missing', 'the response states no token counts');
      }
      if (model === null) {
        return unknown('cost_model_unknown', 'the response does not name its model; pass options.model');
      }
      const at = options.at ?? new Date(record.createdAt ?? Date.now());
      cost.inputUsd = 0;
      cost.outputUsd = 0;
      for (const call of [{ model, usage }, ...extraCalls(usage, model)]) {
        let found: ReturnType<typeof price>;
        try {
          found = price(record.provider, call.model, call.usage, at);
        } catch (cause) {
          // The price list throws when the counts contradict each other: more cached tokens than input tokens, for example.
          return unknown('cost_usage_invalid', cause instanceof Error ? cause.message : String(cause));
        }
        if (found === null) return unknown('cost_model_unknown', `no price is known for ${call.model}`);
        cost.inputUsd += found.input_price;
        cost.outputUsd += found.output_price;
        cost.usd = (cost.usd ?? 0) + found.total_price;
        cost.model ??= found.model.id;
        cost.provider ??= found.provider.id;
      }
      if (/flex|priority|batch|fast|scale/i.test(record.serviceTier ?? '')) {
        const message = `priced as standard, but the service tier is ${record.serviceTier}`;
        cost.warnings.push({ code: 'cost_service_tier_ignored', message });
      }
      return cost;
    },
  };
}

/** Loads the price list and returns the cost of one record. For several records, create one pricer: {@link createPricer}. */
export async function costOf(record: ParsedResponse, options?: CostOptions): Promise<Cost> {
  return (await createPricer()).costOf(record, options);
}
