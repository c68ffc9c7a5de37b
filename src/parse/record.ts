import type { Api } from './apis/index.ts';
import { memo } from './json.ts';
import type { ResponseFacts } from './reading.ts';

/**
 * The response of a provider's API, in one form for all APIs. A fact that the provider did not state, and that does not follow from
 * other facts, is null or absent, never 0 or an empty text. Exceptions: `text` is empty without a text, and a list without entries.
 */
export interface ParsedResponse extends ResponseFacts {
  /** The version of this type. */
  schema: 1;
  /** The provider's name: the one that the caller passed, else the one that the shape shows, else `unknown`. */
  provider: string;
  /** The API that sent the response; null when the shape does not show it. */
  api: Api | null;
  /** True when the caller passed no provider, so that `provider` comes from the shape of the response. */
  detected: boolean;
  /** Whether the response arrived as events of a stream. */
  streamed: boolean;
  /** `planning` when the client has a tool to run, `response` when there is other content, null when there is no content. */
  subtype: 'planning' | 'response' | null;
  /** The whole body, or the body folded from a stream. Only with the option `raw`. */
  raw?: unknown;
}

const providerOf = /* @__PURE__ */ memo((api) => api.slice(0, api.indexOf('.')));

/** Sets the API of a record, and its provider, which is the part of the API's name before the dot. */
export function nameApi(record: ParsedResponse, api: Api): void {
  record.api = api;
  record.provider = providerOf(api);
}

/** Creates an empty record. Every field is written out, because all records then share one hidden class. */
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
