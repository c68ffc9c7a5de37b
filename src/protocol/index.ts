/**
 * What crosses the wire: chunks, frames and their encoding, the life cycle of a tool call, limits and errors. Server and client
 * both import it. `wire/` declares every chunk, frame and data part once, and `errors.ts` every error code. Nothing here does
 * input or output or reads a clock. Only objects that a caller creates (a decoder, a fold, a grammar) keep state. A change here is
 * a change of PROTOCOL.md, whose tables a test writes from the declarations.
 */
export * from './chunks.ts';
export {
  BINARY,
  type BinaryFrame,
  type Block,
  BlockDecoder,
  type ChunkId,
  DONE,
  decodeBinary,
  encodeBinary,
  encodeBlock,
  encodeFrame,
  FRAME_VERSION,
  formatChunkId,
  KEEP_ALIVE,
  KEY_SUBPROTOCOL,
  parseChunkId,
  SUBPROTOCOL,
  WATCHING_SUBPROTOCOL,
} from './codec.ts';
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
export { unfold } from './unfold.ts';
export { CHUNK_TYPES } from './wire/chunks.ts';
export { isForWatchers, TRANSIENT_DATA } from './wire/data.ts';
export { type FrameData, type ServerFrame, TRIGGERS } from './wire/frames.ts';
