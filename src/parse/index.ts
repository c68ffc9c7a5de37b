/**
 * Reads what model providers return, whole or streamed, as one record. It imports nothing, so that it installs alone.
 * Everything about one API is one file in `apis/`, and one line of its index. The only state is that of a stream: an
 * accumulator, which belongs to whoever made it.
 */
export { type Accumulator, createAccumulator } from './accumulator.ts';
export type { Api } from './apis/index.ts';
export { type FlatResponse, type FlatToolUse, parseProviderResponse, toFlat } from './flat.ts';
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
