import type { Streaming } from './fold.ts';
import type { Obj } from './json.ts';
import type { Finish, Output, ResponseFacts } from './reading.ts';

/** Maps a meaning to the name that an API uses for it. Several names of one meaning are separated by spaces. */
export type Names<Thing extends string> = { readonly [T in Thing]?: string };

/** The meanings of the fields of a body or of one of its choices. */
export type BodyField =
  | 'id'
  | 'model'
  | 'created'
  | 'tier'
  | 'status'
  | 'message'
  | 'content'
  /** The content itself, or an object with a field `message` that has the content. */
  | 'output'
  /** The content, where it is a plain text. */
  | 'text'
  /** An object whose field `text` is the content (AI21). */
  | 'textOfData'
  /** `finishReason` and `stopReason` are both the stop reason. When a choice has a field of each, the parser uses that of `finishReason`. */
  | 'finishReason'
  | 'stopReason'
  /** An object with the reason why the response is incomplete. */
  | 'incompleteDetails'
  /** The stop sequence at which the model stopped. */
  | 'sequence'
  | 'error'
  /** The sources of the answer that the body lists outside its choices, as objects (`sources`) or as URLs (`addresses`). */
  | 'sources'
  | 'addresses'
  | 'safety'
  /** Whether a guardrail of Bedrock intervened. */
  | 'guardrail'
  | 'usage'
  /** An object with the usage, read when the body has no `usage`. */
  | 'meta'
  | 'metrics'
  | 'serverTools'
  /** A field that only this API has. `readOwn` of its description reads it. */
  | 'own';

/** The meanings of the fields of a part, except its type and its text. */
export type PartField = 'thought' | 'signature' | 'sources';

/** The kinds of parts that are recognised by name. `parts.ts` recognises the other calls, the results and media by patterns of the name. */
export type PartKind =
  | 'text'
  /** A part that contains other parts. */
  | 'message'
  /** A text with its sources. */
  | 'cited'
  /** One or several thoughts, or summaries of them. */
  | 'reasoning'
  /** One thought. */
  | 'thought'
  | 'redacted'
  | 'refusal'
  | 'call'
  | 'customCall'
  /** `builtin` is a call of one of the provider's tools; `code` is such a call that runs code. */
  | 'builtin'
  | 'code'
  | 'compaction';

/** The meanings of the fields of a tool call. */
export type CallField =
  | 'id'
  /** The id of the call, in an item that also has an id of its own (OpenAI Responses). */
  | 'callId'
  | 'name'
  | 'input'
  | 'code'
  /** A field for which `ToolUse` has no place. When an item has one, the whole item becomes `raw` of the `ToolUse`. */
  | 'extra';

/** The meanings of the fields of a source. `origin` is read as the URL of a source that has no `url`. */
export type SourceField = 'url' | 'origin' | 'title' | 'text';

/** The meanings of the fields of a usage object. */
export type UsageField =
  /** The input, cached tokens included. */
  | 'prompt'
  /** The input. It includes cached tokens only if the usage object also has `cached`. */
  | 'input'
  | 'completion'
  | 'output'
  | 'total'
  /** Cache reads and writes that the input does not include. */
  | 'cacheRead'
  | 'cacheWrite'
  /** Cache reads and writes that the input includes. */
  | 'cached'
  | 'cacheWritten'
  /** Reasoning that the output includes. */
  | 'reasoning'
  /** Reasoning that the output does not include. */
  | 'thoughts'
  /** Prompts for the use of tools, which the input does not include. */
  | 'toolPrompt'
  /** An object that has the counts (Cohere). */
  | 'counts'
  /** An object that has the counts of the charged tokens (Cohere). */
  | 'billed'
  /** The count of one modality, such as `audio_tokens`. */
  | 'modality'
  | 'inputDetails'
  | 'outputDetails'
  /** Cache reads by modality. */
  | 'cacheDetails'
  | 'tier'
  | 'serverTools'
  | 'iterations'
  /** Cache writes by their lifetime, as an object (Anthropic) or a list (Bedrock). */
  | 'cacheTtlObject'
  | 'cacheTtlList'
  /** A list whose first entry has the output (Titan). */
  | 'outputOfResults';

/** What a value is: a whole response (`body`), one event of a stream (`event`), or either, where the two look alike. */
export type Shape = 'body' | 'event' | 'either';

/**
 * The field names of one API. Within one of these tables a name has the same meaning for all APIs. So the names of all APIs are the
 * `case` labels of one `switch`, for example in `body.ts`. A `switch` is faster than a lookup in a table, and it also reads
 * responses of services that mix the fields of several APIs. `npm test -- test/parse/names -u` writes the labels.
 */
export interface ApiNames {
  readonly body?: Names<BodyField>;
  readonly part?: Names<PartField>;
  readonly kind?: Names<PartKind>;
  readonly call?: Names<CallField>;
  readonly source?: Names<SourceField>;
  readonly usage?: Names<UsageField>;
}

/** Describes one API: how its bodies and events are recognised, how it streams, and which fields only it has. */
export interface ApiDescription<Name extends string = string> {
  /** The name of the API. The part before the dot is the provider's name. */
  readonly api: Name;
  /**
   * Returns whether a value is a body or an event of this API; null when it is neither. `object` is `value.object`. The parser calls
   * this function for one API after another until one recognises the value. Reading a field that the value lacks is slow, so the
   * function should read few fields.
   */
  recognise(value: Obj, object: unknown): Shape | null;
  /** Returns the text to append to `api` for a value: the model family or the endpoint. `api` then ends with a dot. */
  familyOf?(value: Obj): string | null;
  /** Returns a truthy value when the API reports errors in this shape. An error that no API claims is read as an error of OpenAI chat. */
  claimsError?(body: Obj, error: Obj): unknown;
  /** Converts a body that an SDK stored with other field names to the names that the API sends. */
  asSent?(value: Obj): Obj;
  /** Returns the choices of a body. Without this function the body itself is the only choice. */
  choicesIn?(body: Obj): readonly unknown[];
  readonly streaming: Streaming;
  /** Set when the server-sent events of this API end with `[DONE]`. A stream without this marker was cut. */
  readonly promisesDone?: true;
  /** Reads a field of a body or a choice that only this API has: one of the names of `BodyField` `own`. */
  readOwn?(name: string, value: unknown, out: Output, record: ResponseFacts): void;
  /** Stop reasons in lower case that the general patterns of `finish.ts` do not match. */
  readonly finish?: Readonly<Record<string, Finish>>;
}
