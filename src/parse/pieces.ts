/**
 * Functions for a program that holds only a piece of a response: a stop reason, a usage object, or one value whose API it
 * does not know. For a whole response or stream, call `parse` of `duologue/parse`.
 */
export { type Detected, detect } from './detect.ts';
export { type FinishContext, finishOf } from './finish.ts';
export { usageOf } from './usage.ts';
