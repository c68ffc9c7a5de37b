/** For those who hold only a piece of a response: its finish, its usage, or one event whose API is not known. */
export { type Detected, detect } from './detect.ts';
export { type FinishContext, finishOf } from './finish.ts';
export { usageOf } from './usage.ts';
