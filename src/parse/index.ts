/**
 * Turns the response of a model provider's API, whole or streamed, into one typed record. `docs/parse.md` describes the record.
 *
 * The data goes through these modules:
 *
 * - `parse.ts`: `parse`, `parseStream` and `parseBatch`. A whole body goes to `body.ts`, everything else to an accumulator.
 * - `accumulator.ts`: cuts text and bytes into events (`frames.ts`, `aws-event-stream.ts`), finds the API of an event
 *   (`detect.ts`), and folds the events into the body that the same request would have returned without streaming (`fold.ts`, `merge.ts`).
 * - `body.ts`: reads a body (`message.ts`, `parts.ts`, `usage.ts`, `citations.ts`) into the record.
 * - `settle.ts`: completes the record: the normalised finish, the subtype, warnings, and facts from the HTTP headers and status.
 * - `apis/`: one file for each API, with everything that only this API has.
 *
 * The modules of this folder import only each other, so a program can bundle the parser alone. The one exception is `cost.ts`, which
 * loads the package `@pydantic/genai-prices`. Apart from caches, all state is in accumulators, and each accumulator belongs to the caller
 * that created it.
 */
export { type Accumulator, createAccumulator } from './accumulator.ts';
export type { Api } from './apis/index.ts';
export { type FlatResponse, parseProviderResponse, toFlat } from './flat.ts';
export { type BatchResult, parse, parseBatch, parseStream, type StreamSource } from './parse.ts';
export type {
  Citation,
  Finish,
  LiveFacts,
  Modality,
  Output,
  ParsedChoice,
  ParsedError,
  Part,
  ToolUse,
  Usage,
  Warning,
  WarningCode,
} from './reading.ts';
export type { ParsedResponse } from './record.ts';
export type { HeaderSource, ParseOptions } from './settle.ts';
