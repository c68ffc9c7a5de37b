/**
 * Turns the chunks of a connection into the responses that `useChat` reads. `Responses` owns the messages and decides, without I/O;
 * `ResponseStream` is one response as a stream.
 */
export { ResponseStream } from './response-stream.ts';
export { Responses } from './responses.ts';
export type { ResponseOutput } from './streamed-message.ts';
