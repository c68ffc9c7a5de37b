/** Why the model stopped, in words that are the same for all providers. */
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

/** The code of a warning. `docs/parse.md` says what each code means. The codes are stable; a program may compare them. */
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

/** Something unusual in a response, which did not stop the parser from reading it. */
export interface Warning {
  code: WarningCode;
  /** The value that caused the warning, or a short text; may be empty. */
  message: string;
}

/** A source that the provider attached to the answer. A field is null when the provider did not send it. */
export interface Citation {
  type: string;
  url: string | null;
  title: string | null;
  /** The quoted text of the source. */
  text: string | null;
  /** The provider's own object, by reference. */
  raw: unknown;
}

/** One tool call of the model. */
export interface ToolUse {
  type: 'tool_call';
  id: string;
  /** True when the provider sent no id and the parser generated this one. */
  idSynthesized: boolean;
  name: string;
  /** The parsed arguments; the raw text when it is not valid JSON. */
  input: unknown;
  /** The text of the arguments, when the provider sent them as text. */
  inputRaw?: string;
  /** False when the text of the arguments is not valid JSON. */
  inputValid: boolean;
  /** Who runs the tool: the client (the program that called the API), or the provider's server. */
  executor: 'client' | 'server';
  /** The caller defines `function` and `custom` tools, the provider `builtin` tools, an MCP server `mcp` tools. */
  kind: 'function' | 'custom' | 'builtin' | 'mcp';
  status: 'pending' | 'completed' | 'failed';
  /** The result of a tool that the provider ran. */
  output?: unknown;
  /** Gemini's thought signature. The client must send it back with the result of the call. */
  signature?: string;
  /** The provider's own item, by reference, where it holds more than the fields above. */
  raw?: unknown;
}

/** One piece of a response. `raw` is the provider's own object, by reference. */
export type Part =
  | { type: 'text'; text: string; citations?: Citation[]; signature?: string; phase?: string }
  | { type: 'reasoning'; text: string; signature?: string; redacted?: true; raw?: unknown }
  | { type: 'refusal'; text: string }
  | ToolUse
  | { type: 'tool_result'; toolUseId: string | null; output: unknown; failed: boolean; raw: unknown }
  | { type: 'media'; mediaType: string | null; data: unknown; transcript?: string; raw: unknown }
  | { type: 'compaction'; text: string | null; raw: unknown }
  | { type: 'other'; kind: string; raw: unknown };

/** Token counts by modality. The keys are in lower case: text, image, audio, video, document. */
export interface Modality {
  input: Record<string, number>;
  output: Record<string, number>;
  /** The part of the input that was read from a cache, where the provider states it. */
  cacheRead?: Record<string, number>;
}

/** Token counts with one meaning for all providers. A count is null when the provider did not state it and the stated counts do not give it. */
export interface Usage {
  /** Every input token: uncached, cache reads and writes, tool-use prompts. */
  input: number | null;
  /** `input` without `cacheRead` and `cacheWrite`. */
  inputUncached: number | null;
  /** The input tokens that were read from the prompt cache. */
  cacheRead: number | null;
  /** The input tokens that were written to the prompt cache. */
  cacheWrite: number | null;
  /** The part of `cacheWrite` that is kept for an hour. */
  cacheWrite1h?: number;
  /** Every output token, reasoning included. */
  output: number | null;
  /** `output` without `reasoning`. */
  outputText: number | null;
  reasoning: number | null;
  /** The provider's own total where it states one, else input + output. */
  total: number | null;
  /** The provider's own numbers, with the provider's own meaning. */
  reported: { input: number | null; output: number | null; total: number | null };
  /** Cohere only: the tokens that are charged. They are fewer than the tokens that the model read and wrote. */
  billed?: { input: number | null; output: number | null };
  modality?: Modality;
  /** The provider's own counts of the tools that it ran, such as web searches. */
  serverTools?: unknown;
  /** Anthropic only: the usage of each model call inside one response, by reference. */
  iterations?: readonly unknown[];
  /** Where the counts come from: the body, the HTTP headers, or the metrics that Bedrock adds to a stream. */
  source: 'body' | 'headers' | 'invocation_metrics';
}

/**
 * An error that the provider reported, the reason why the parser could not read the input (`unrecognized_response`), or the failure of
 * the source of a stream (`stream_error`).
 */
export interface ParsedError {
  type: string | null;
  code: string | number | null;
  message: string;
  /** The HTTP status that the caller passed, else the one that the body states. */
  status: number | null;
  /** How long to wait before the next attempt, where the provider states it. */
  retryAfterMs?: number;
}

/** The output of one choice (OpenAI) or candidate (Gemini); most responses have one. */
export interface Output {
  /** The visible text of all parts, joined. It has no reasoning, refusal or compaction. */
  text: string;
  content: Part[];
  /** The reasoning texts, joined with a blank line between them. */
  thinking: string | null;
  /** The text with which the model refused. */
  refusal: string | null;
  toolUses: ToolUse[];
  citations: Citation[];
  /**
   * The provider's own stop reason, unchanged. Without one, the provider's reason why the response is incomplete, or else the status of
   * the response. Null without any of these.
   */
  stopReason: string | null;
  /**
   * The stop reason, normalised. It is `error` for a response with an error, `content_filter` when a guardrail or a filter of the prompt
   * stopped the response, and `incomplete` when a response without a stop reason is not complete. Otherwise null without a stop reason.
   */
  finish: Finish | null;
  /** More about the stop: the stop sequence, the category of a filter, the provider's explanation. */
  stopDetail?: { sequence?: string; category?: string; message?: string };
}

/** One choice of a response that has several. */
export interface ParsedChoice extends Output {
  index: number;
}

/** The facts of a Gemini Live session that the parts of the output do not show. */
export interface LiveFacts {
  /** The words of the user, as Gemini transcribed them. */
  inputTranscription: string;
  /** The words that the model spoke. */
  outputTranscription: string;
  /** How many turns the model completed. */
  turns: number;
  /** How many turns the user interrupted. */
  interrupted: number;
}

/** The facts that the readers find in a response of any API. */
export interface ResponseFacts extends Output {
  /** False when the stream was cut, the response is still queued or in progress, or the input is no response. */
  complete: boolean;
  id: string | null;
  model: string | null;
  /** Unix milliseconds. */
  createdAt: number | null;
  serviceTier: string | null;
  /** The status of OpenAI Responses and Gemini Interactions, unchanged. */
  status: string | null;
  usage: Usage | null;
  /** All choices, when there are several. The record itself has the first. */
  choices?: ParsedChoice[];
  error: ParsedError | null;
  /** How long the provider worked on the response (Bedrock, Ollama). */
  latencyMs?: number;
  /** The provider's own safety ratings, filter results or guardrail trace, by reference. */
  safety?: unknown;
  /** Gemini's grounding metadata, by reference. */
  grounding?: unknown;
  live?: LiveFacts;
  warnings: Warning[];
}

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

/** Adds a warning, unless the list has one with that code already. */
export function warn(warnings: Warning[], code: WarningCode, message: unknown = ''): void {
  if (!warnings.some((warning) => warning.code === code)) warnings.push({ code, message: String(message) });
}
