/**
 * Sound in the browser: a microphone as the wire wants it, and a player for what the agent says. The two files with
 * `processor` in their names are worklets, which run beside the page; what they do is in classes that know neither
 * clock nor loudspeaker. A recorder and a player own what they opened, and close it.
 */
export { AudioError, type AudioErrorCode } from './audio-error.ts';
export { convertFloat32ToPCM16, convertPCM16ToFloat32, encodeWav, pcm16Of } from './pcm.ts';
export { Resampler } from './pcm-recorder-processor.ts';
export { AudioPlayer, type AudioPlayerOptions, type Heard, type Sound } from './player.ts';
export { AudioRecorder, type AudioRecorderOptions } from './recorder.ts';
