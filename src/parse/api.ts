import type { Streaming } from './fold.ts';
import type { Obj } from './json.ts';
import type { Finish, Output, ResponseFacts } from './reading.ts';

/** The field names of an API by their meaning; several names of one meaning are separated by spaces. */
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
  /** The content, or an object whose message has the content. */
  | 'output'
  /** The content, where it is a plain text. */
  | 'text'
  /** An object that has the text. */
  | 'textOfData'
  /** The stop reason. When a choice has both kinds of names, `finishReason` wins. */
  | 'finishReason'
  | 'stopReason'
  /** An object with the reason why the response is incomplete. */
  | 'incompleteDetails'
  /** The stop sequence at which the model stopped. */
  | 'sequence'
  | 'error'
  /** The sources of the answer beside the choices, as objects (`sources`) and as URLs (`addresses`). */
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
  /** A field that `readOwn` of the API reads. */
  | 'own';

/** The meanings of the fields of a part, beside its type and its text. */
export type PartField = 'thought' | 'signature' | 'sources';

/** The kinds of parts that are recognised by name. Other calls, results and media are recognised by a suffix of the name. */
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
  /** A call of one of the provider's tools; `code` is one that runs code. */
  | 'builtin'
  | 'code'
  | 'compaction';

/** The meanings of the fields of a tool call. */
export type CallField =
  | 'id'
  /** The id of the call, where the item has an id too. */
  | 'callId'
  | 'name'
  | 'input'
  | 'code'
  /** A field that the record has no place for; the call then keeps the item as `raw`. */
  | 'extra';

/** The meanings of the fields of a source. `origin` is its URL, when it has no `url`. */
export type SourceField = 'url' | 'origin' | 'title' | 'text';

/** The meanings of the fields of a usage object. */
export type UsageField =
  /** The input, cached tokens included. */
  | 'prompt'
  /** The input. It includes cached tokens only if the object has `cached`. */
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
  /** Prompts of tools, which the input does not include. */
  | 'toolPrompt'
  /** An object that has the counts (Cohere). */
  | 'counts'
  /** An object that has the counts that are charged (Cohere). */
  | 'billed'
  /** The count of one modality. */
  | 'modality'
  | 'inputDetails'
  | 'outputDetails'
  /** Cache reads by modality. */
  | 'cacheDetails'
  | 'tier'
  | 'serverTools'
  | 'iterations'
  /** Cache writes by the time for which they are kept, as an object (Anthropic) or a list (Bedrock). */
  | 'cacheTtlObject'
  | 'cacheTtlList'
  /** A list whose first entry has the output (Titan). */
  | 'outputOfResults';

/** What a value is: a whole response (`body`), one event of a stream (`event`), or either, where the two look alike. */
export type Shape = 'body' | 'event' | 'either';

/**
 * The field names of one API. No name has two meanings, so the names of all APIs are the labels of one `switch` in each reader.
 * That is faster than a table, and it reads services that mix the fields of several APIs. `npm test -- test/parse/names -u` writes
 * the labels into the readers.
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
   * Returns what a value is, or null when it is not of this API. The APIs are asked in order, and reading a field that an object
   * lacks is slow, so each should read few. `object` is `value.object`.
   */
  recognise(value: Obj, object: unknown): Shape | null;
  /** Returns the suffix of the API's name for a value: the family of models, or the endpoint. `api` then ends with a dot. */
  familyOf?(value: Obj): string | null;
  /** Whether the API reports errors in this shape. An error that no API claims is read as one of OpenAI. */
  claimsError?(body: Obj, error: Obj): unknown;
  /** Converts a body to the field names of the wire, where an SDK stores it with other names. */
  asSent?(value: Obj): Obj;
  /** Returns the choices of a body. Without this function the body itself is the only choice. */
  choicesIn?(body: Obj): readonly unknown[];
  readonly streaming: Streaming;
  /** Set when server-sent events of this API end with `[DONE]`: a stream without it was cut. */
  readonly promisesDone?: true;
  /** Reads a field of a body or a choice that only this API has (`own` of its names). */
  readOwn?(name: string, value: unknown, out: Output, record: ResponseFacts): void;
  /** Stop reasons in lower case that the general patterns of `finish.ts` do not match. */
  readonly finish?: Readonly<Record<string, Finish>>;
}
