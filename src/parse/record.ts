import type { Api } from './apis/index.ts';
import { memo } from './json.ts';
import type { ResponseFacts } from './reading.ts';

/** A provider's response, normalised. */
export interface ParsedResponse extends ResponseFacts {
  schema: 1;
  /** The caller's name for the provider, else the detected one. */
  provider: string;
  /** Null when the input is not a model response or error of a known shape. */
  api: Api | null;
  /** True when `provider` was found by shape. */
  detected: boolean;
  streamed: boolean;
  /** Planning exactly when the client has a tool to run. */
  subtype: 'planning' | 'response' | null;
  /** The whole (or folded) body; only when asked for. */
  raw?: unknown;
}

const providerOf = /* @__PURE__ */ memo((api) => api.slice(0, api.indexOf('.')));

/** Says which API a record is of; the part before the dot is the provider's. */
export function nameApi(record: ParsedResponse, api: Api): void {
  record.api = api;
  record.provider = providerOf(api);
}

/** An empty record, to be filled by a reader; spelled out because this is the hot path. */
export function emptyRecord(): ParsedResponse {
  return {
    schema: 1,
    provider: 'unknown',
    api: null,
    detected: true,
    streamed: false,
    complete: true,
    id: null,
    model: null,
    createdAt: null,
    serviceTier: null,
    status: null,
    text: '',
    content: [],
    thinking: null,
    refusal: null,
    toolUses: [],
    citations: [],
    stopReason: null,
    finish: null,
    subtype: null,
    usage: null,
    error: null,
    warnings: [],
  };
}
