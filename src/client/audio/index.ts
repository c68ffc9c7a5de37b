/**
 * Sound in the browser: a microphone with the format of the wire, and a player for the agent's sound. The two files with `processor` in
 * their names are audio worklets; their logic is in classes without a clock or a device. A recorder and a player own the devices that
 * they opened, and close them.
 */
export { AudioError, type AudioErrorCode } from './audio-error.ts';
export { AudioPlayer, type AudioPlayerOptions, type Heard, type Sound } from './player.ts';
export { AudioRecorder, type AudioRecorderOptions } from './recorder.ts';
