/** 20 ms of sound, 16 bits: up at 16 kHz, down at 24 kHz. */
export const UP_BYTES = 640;
export const DOWN_BYTES = 960;
export const FRAME_MS = 20;
