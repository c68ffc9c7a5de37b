/**
 * Sound in the browser: a recorder for the microphone, in the format that the server accepts, and a player for the agent's sound. The two
 * files with `processor` in their names are audio worklets. Their logic is in classes that use neither a clock nor a device. A recorder
 * or player owns the device that it opened, and closes it.
 */
export { AudioError, type AudioErrorCode } from './audio-error.ts';
export { AudioPlayer, type AudioPlayerOptions, type Heard, type Sound } from './player.ts';
export { AudioRecorder, type AudioRecorderOptions } from './recorder.ts';
