/**
 * What is said on the wire: chunks, frames and how they are encoded, the life cycle of a tool call, limits and errors. Server
 * and client both import it. It does no input or output, reads no clock and keeps no state between two calls, except in
 * objects that the caller makes (a decoder, a fold, a grammar). A change here is a change of PROTOCOL.md.
 */
export * from './chunks.ts';
export * from './codec.ts';
export * from './encode-frame.ts';
export * from './errors.ts';
export * from './fold.ts';
export * from './frames.ts';
export * from './grammar.ts';
export { base64Bytes, LIMITS, type Limits } from './limits.ts';
export * from './read.ts';
export {
  type Answer,
  answersIn,
  isSettled,
  type ToolCallEvent,
  type ToolCallState,
  TRANSITIONS,
  toolNameOf,
  transition,
  type WaitingCall,
  waitingFor,
} from './tool-call.ts';
export * from './unfold.ts';
