import type { Streaming } from './fold.ts';
import type { Obj } from './json.ts';
import type { Finish, Output, ResponseFacts } from './reading.ts';

/** The names that an API has for things: by thing, its names with spaces between. */
export type Names<Thing extends string> = { readonly [T in Thing]?: string };

/** What a body or one of its choices may state. */
export type BodyField =
  | 'id'
  | 'model'
  | 'created'
  | 'tier'
  | 'status'
  | 'message'
  | 'content'
  /** The content, perhaps inside a message. */
  | 'output'
  /** The content where it is only a text. */
  | 'text'
  /** An object with the text. */
  | 'textOfData'
  /** Why the model stopped; the first kind of name wins over the second. */
  | 'finishReason'
  | 'stopReason'
  /** An object with the reason why the response is not complete. */
  | 'because'
  | 'sequence'
  | 'error'
  /** Sources of the answer beside the choices, and their mere addresses. */
  | 'sources'
  | 'addresses'
  | 'safety'
  /** Whether a guardrail stepped in. */
  | 'guardrail'
  | 'usage'
  /** The usage, where the body has no field of that name. */
  | 'meta'
  | 'metrics'
  | 'serverTools'
  /** What the API reads itself. */
  | 'own';

/** What a part may state beside its type, its text and what is inside it. */
export type PartField = 'thought' | 'signature' | 'sources';

/** What kinds of parts there are; others are calls, results and media, told by the ends of their names. */
export type PartKind =
  | 'text'
  /** A list of parts. */
  | 'message'
  /** A text inside, with its sources. */
  | 'cited'
  /** Thoughts or summaries of them. */
  | 'reasoning'
  /** One thought as a text. */
  | 'thought'
  | 'redacted'
  | 'refusal'
  | 'call'
  | 'customCall'
  /** A tool of the provider's own; one that runs code. */
  | 'builtin'
  | 'code'
  | 'compaction';

/** What a call of a tool may state. */
export type CallField =
  | 'id'
  /** The call's id where the item has another one of its own. */
  | 'callId'
  | 'name'
  | 'input'
  | 'code'
  /** Something for which the item itself is kept. */
  | 'oddity';

/** What a source may state; its address may also be its origin. */
export type SourceField = 'url' | 'origin' | 'title' | 'text';

/** What a usage object may state; what a count includes differs. */
export type UsageField =
  /** Input that includes the cache. */
  | 'prompt'
  /** Input that includes the cache only if `cached` is stated. */
  | 'input'
  | 'completion'
  | 'output'
  | 'total'
  /** Cache reads and writes beside the input. */
  | 'cacheRead'
  | 'cacheWrite'
  /** Cache reads and writes inside the input. */
  | 'cached'
  | 'cacheWritten'
  /** Reasoning inside the output. */
  | 'reasoning'
  /** Reasoning beside the output. */
  | 'thoughts'
  /** Input beside the input. */
  | 'toolPrompt'
  /** An object with the counts. */
  | 'counts'
  /** An object with the counts that are charged. */
  | 'billed'
  /** Counts of one modality. */
  | 'modality'
  | 'inputDetails'
  | 'outputDetails'
  /** Cache reads by modality. */
  | 'cacheDetails'
  | 'tier'
  | 'serverTools'
  | 'iterations'
  /** Cache writes by how long they are kept, as an object or a list. */
  | 'hourOfCache'
  | 'cacheByTime'
  /** The output in the first of a list. */
  | 'outputOfResults';

/** Whether a value is a whole response, one event of a stream, or either, where the two look alike. */
export type Shape = 'body' | 'event' | 'either';

/**
 * The names of one API for what every API has: by thing, with spaces between. No name stands for two things, so the names
 * of all APIs are the labels of one `switch`, which nothing else is as fast as, and which reads the mixtures of imitators
 * too. `npm test -- test/parse/names -u` writes the labels.
 */
export interface ApiNames {
  readonly body?: Names<BodyField>;
  readonly part?: Names<PartField>;
  readonly kind?: Names<PartKind>;
  readonly call?: Names<CallField>;
  readonly source?: Names<SourceField>;
  readonly usage?: Names<UsageField>;
}

/** How one API is told from others, how it streams, and what only it has. */
export interface ApiDescription<Name extends string = string> {
  /** The part before the dot is the provider's name. */
  readonly api: Name;
  /**
   * Tells by its fields, of which `object` is one, whether a value is of this API. The APIs are asked in order, and asking
   * for a field that is not there is slow: each asks for few.
   */
  recognise(value: Obj, object: unknown): Shape | null;
  /** The family of models, where the API's name ends with it. */
  familyOf?(value: Obj): string | null;
  /** Whether the API reports errors in this way; what nobody claims is told the way OpenAI does. */
  claimsError?(body: Obj, error: Obj): unknown;
  /** A value as the wire has it, where SDKs store it in another spelling. */
  asSent?(value: Obj): Obj;
  /** The choices of a body; without this a body is its own only choice. */
  choicesIn?(body: Obj): readonly unknown[];
  readonly streaming: Streaming;
  /** Server-sent events end with `[DONE]`. */
  readonly promisesDone?: true;
  /** Reads a field of a body or a choice that only this API has. */
  readOwn?(name: string, value: unknown, out: Output, record: ResponseFacts): void;
  /** Stop reasons, in lower case, whose words do not say what they mean. */
  readonly finish?: Readonly<Record<string, Finish>>;
}
