/**
 * Turns the chunks of a connection into the responses that `useChat` reads. `Responses` owns the messages, and decides which response gets
 * a chunk; it neither waits nor uses a clock. `ResponseStream` is one response as a stream.
 */
export type { ResponseSink } from './message-reader.ts';
export { ResponseStream } from './response-stream.ts';
export { type ReadOptions, Responses } from './responses.ts';
export type { Pending } from './streamed-message.ts';
