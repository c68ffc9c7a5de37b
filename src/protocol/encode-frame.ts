import { FRAME_VERSION } from './codec.ts';
import type { FrameData } from './frames.ts';

/** A client frame as text, in its envelope. */
export function encodeFrame<T extends keyof FrameData>(type: T, data: FrameData[T]): string {
  return JSON.stringify({ type, version: FRAME_VERSION, data });
}
