import type { ParsedResponse, Usage } from './index.ts';
import { type Obj, obj, objects } from './json.ts';
import { usageOf } from './usage.ts';

/** What a response cost; every amount is in US dollars, and null when it cannot be told. */
export interface Cost {
  usd: number | null;
  inputUsd: number | null;
  outputUsd: number | null;
  /** The entry of the price list that was used. */
  model: string | null;
  provider: string | null;
  warnings: CostWarning[];
}

/** Why a cost is null, or what it leaves out. */
export interface CostWarning {
  code: 'cost_model_unknown' | 'cost_usage_missing' | 'cost_service_tier_ignored';
  message: string;
}

/** What the record does not say. */
export interface CostOptions {
  /** The model that was called, for responses that do not name it (Bedrock). */
  model?: string;
  /** When it was called, for prices that changed; else the record's own date, else now. */
  at?: Date;
}

/** Prices records from one price list; the provider of each model is looked up once. */
export interface Pricer {
  costOf(record: ParsedResponse, options?: CostOptions): Cost;
}

type Prices = typeof import('@pydantic/genai-prices');
type Provider = ReturnType<Prices['findProvider']>;

/** The price list's names for the providers that have another one here. */
const NAMES: Readonly<Record<string, string>> = {
  gemini: 'google',
  vertex: 'google',
  bedrock: 'aws',
  xai: 'x-ai',
};

function tokensOf(usage: Usage): Record<string, number> {
  const { billed } = usage;
  if (billed) return { input_tokens: billed.input ?? 0, output_tokens: billed.output ?? 0 };
  const searches =
    obj(usage.serverTools).web_search_requests ?? obj(obj(usage.serverTools).web_search).num_requests;
  const counts = {
    input_tokens: usage.input,
    output_tokens: usage.output,
    cache_read_tokens: usage.cacheRead,
    cache_write_tokens: usage.cacheWrite,
    cache_write_1h_tokens: usage.cacheWrite1h,
    // Details need not add up to their sum, and the list refuses a part that is more than the whole.
    input_audio_tokens: Math.min(usage.modality?.input.audio ?? 0, usage.input ?? 0),
    output_audio_tokens: Math.min(usage.modality?.output.audio ?? 0, usage.output ?? 0),
    cache_audio_read_tokens: Math.min(usage.modality?.cacheRead?.audio ?? 0, usage.cacheRead ?? 0),
    web_searches: searches,
  };
  return Object.fromEntries(Object.entries(counts).filter((entry): entry is [string, number] => !!entry[1]));
}

/** Anthropic's compaction and advisor calls are priced beside the top-level counts, each with its own model. */
function extraCalls(usage: Usage, model: string): { model: string; usage: Usage }[] {
  return objects(usage.iterations).flatMap((iteration: Obj) => {
    const counted = iteration.type === 'message' || iteration.type === 'fallback_message';
    const extra = counted ? null : usageOf(iteration);
    return extra === null
      ? []
      : [{ model: typeof iteration.model === 'string' ? iteration.model : model, usage: extra }];
  });
}

/** Loads the price list (`@pydantic/genai-prices`, an optional peer) and prices records from it. */
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
    // A model that its own provider's list lacks may be in the list of the model's maker.
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
      const warn = (code: CostWarning['code'], message: string) => cost.warnings.push({ code, message });
      const { usage } = record;
      const model = options.model ?? record.model;
      if (usage === null || usage.input === null || usage.output === null) {
        warn('cost_usage_missing', 'the response states no token counts');
        return cost;
      }
      if (model === null) {
        warn('cost_model_unknown', 'the response does not name its model; pass options.model');
        return cost;
      }
      const at = options.at ?? new Date(record.createdAt ?? Date.now());
      cost.inputUsd = 0;
      cost.outputUsd = 0;
      for (const call of [{ model, usage }, ...extraCalls(usage, model)]) {
        const found = price(record.provider, call.model, call.usage, at);
        if (found === null) {
          warn('cost_model_unknown', `no price is known for ${call.model}`);
          return { ...cost, inputUsd: null, outputUsd: null };
        }
        cost.inputUsd += found.input_price;
        cost.outputUsd += found.output_price;
        cost.usd = (cost.usd ?? 0) + found.total_price;
        cost.model ??= found.model.id;
        cost.provider ??= found.provider.id;
      }
      if (/flex|priority|batch|fast|scale/i.test(record.serviceTier ?? '')) {
        warn(
          'cost_service_tier_ignored',
          `priced as standard, but the service tier is ${record.serviceTier}`,
        );
      }
      return cost;
    },
  };
}

/** The cost of one record; for many records make one pricer. */
export async function costOf(record: ParsedResponse, options?: CostOptions): Promise<Cost> {
  return (await createPricer()).costOf(record, options);
}
