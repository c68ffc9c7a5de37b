/** Why the model stopped, in one vocabulary for all providers. */
export type Finish =
  | 'stop'
  | 'length'
  | 'tool_calls'
  | 'content_filter'
  | 'refusal'
  | 'pause'
  | 'error'
  | 'incomplete'
  | 'other';

/** Stable codes of the things a caller may want to know about a record. */
export type WarningCode =
  | 'unknown_block'
  | 'unknown_stop_reason'
  | 'tool_args_invalid_json'
  | 'tool_args_truncated'
  | 'synthesized_id'
  | 'multiple_choices'
  | 'stream_incomplete'
  | 'stream_corrupt'
  | 'stream_duplicate_start'
  | 'multiple_responses'
  | 'usage_missing'
  | 'usage_total_mismatch'
  | 'usage_reasoning_outside_output'
  | 'delta_final_mismatch'
  | 'provider_mismatch'
  | 'non_finite_number';

/** Something that was odd about the response but did not stop it from being read. */
export interface Warning {
  code: WarningCode;
  message: string;
}

/** A source that the provider attached to the answer. */
export interface Citation {
  type: string;
  url: string | null;
  title: string | null;
  /** The quoted source text, where the provider sends it. */
  text: string | null;
  /** The provider's own object. */
  raw: unknown;
}

/** One call of a tool, by the model, run by the client or by the provider. */
export interface ToolUse {
  type: 'tool_call';
  id: string;
  /** True when the provider sent no id and this one was made up. */
  idSynthesized: boolean;
  name: string;
  /** The parsed arguments; the raw text when it is not valid JSON. */
  input: unknown;
  /** The arguments as sent, when they were sent as text. */
  inputRaw?: string;
  inputValid: boolean;
  executor: 'client' | 'server';
  kind: 'function' | 'custom' | 'builtin' | 'mcp';
  status: 'pending' | 'completed' | 'failed';
  output?: unknown;
  /** Gemini's thought signature, which must be sent back with the call. */
  signature?: string;
  /** The provider's own item, for kinds other than plain functions. */
  raw?: unknown;
}

/** One ordered piece of a response; `raw` is the provider's own object, by reference. */
export type Part =
  | { type: 'text'; text: string; citations?: Citation[]; signature?: string; phase?: string }
  | { type: 'reasoning'; text: string; signature?: string; redacted?: true; raw?: unknown }
  | { type: 'refusal'; text: string }
  | ToolUse
  | { type: 'tool_result'; toolUseId: string | null; output: unknown; failed: boolean; raw: unknown }
  | { type: 'media'; mediaType: string | null; data: unknown; transcript?: string; raw: unknown }
  | { type: 'compaction'; text: string | null; raw: unknown }
  | { type: 'other'; kind: string; raw: unknown };

/** Tokens split by modality, lower-case names: text, image, audio, video, document. */
export interface Modality {
  input: Record<string, number>;
  output: Record<string, number>;
  /** Of the input what was read from a cache, where the provider says so. */
  cacheRead?: Record<string, number>;
}

/** Token counts with one meaning for all providers; a count the provider did not give is null. */
export interface Usage {
  /** Every input token: uncached, cache reads and writes, tool-use prompts. */
  input: number | null;
  inputUncached: number | null;
  cacheRead: number | null;
  cacheWrite: number | null;
  /** The part of `cacheWrite` that is kept for an hour. */
  cacheWrite1h?: number;
  /** Every output token, reasoning included. */
  output: number | null;
  outputText: number | null;
  reasoning: number | null;
  /** The provider's own total where it states one, else input + output. */
  total: number | null;
  /** The provider's own numbers, with the provider's own meaning. */
  reported: { input: number | null; output: number | null; total: number | null };
  /** Cohere: the tokens that are charged, which are fewer than those that the model read and wrote. */
  billed?: { input: number | null; output: number | null };
  modality?: Modality;
  serverTools?: unknown;
  /** Anthropic: the model calls inside one response, by reference. */
  iterations?: readonly unknown[];
  source: 'body' | 'headers' | 'invocation_metrics';
}

/** What the provider, or the parser about the input, reports as an error. */
export interface ParsedError {
  type: string | null;
  code: string | number | null;
  message: string;
  /** HTTP status: the caller's, else the one the body states. */
  status: number | null;
  retryAfterMs?: number;
}

/** What one choice or candidate says. */
export interface Output {
  /** All visible text, joined; without reasoning, refusal and compaction. */
  text: string;
  content: Part[];
  /** Reasoning texts joined by a blank line. */
  thinking: string | null;
  refusal: string | null;
  toolUses: ToolUse[];
  citations: Citation[];
  /** The provider's own value, verbatim. */
  stopReason: string | null;
  finish: Finish | null;
  stopDetail?: { sequence?: string; category?: string; message?: string };
}

/** One of several choices. */
export interface ParsedChoice extends Output {
  index: number;
}

/** What Gemini Live says beside the model's own parts. */
export interface LiveFacts {
  inputTranscription: string;
  outputTranscription: string;
  turns: number;
  interrupted: number;
}

/** What is read from a response, whatever API it is of. */
export interface ResponseFacts extends Output {
  /** False when a stream was cut or the response is still queued or in progress. */
  complete: boolean;
  id: string | null;
  model: string | null;
  /** Milliseconds since the epoch. */
  createdAt: number | null;
  serviceTier: string | null;
  /** The status of OpenAI Responses and Gemini Interactions, verbatim. */
  status: string | null;
  usage: Usage | null;
  /** Only when there is more than one; the first one is the record itself. */
  choices?: ParsedChoice[];
  error: ParsedError | null;
  latencyMs?: number;
  safety?: unknown;
  grounding?: unknown;
  live?: LiveFacts;
  warnings: Warning[];
}

/** An empty output, to be filled by a reader. */
export function emptyOutput(): Output {
  return {
    text: '',
    content: [],
    thinking: null,
    refusal: null,
    toolUses: [],
    citations: [],
    stopReason: null,
    finish: null,
  };
}

/** Adds a warning; each code is told once, with the first occasion. */
export function warn(warnings: Warning[], code: WarningCode, message: unknown = ''): void {
  if (!warnings.some((warning) => warning.code === code)) warnings.push({ code, message: String(message) });
}
