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
