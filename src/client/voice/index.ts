/**
 * Talking with the agent, without React: microphone, speech detection, interruption and the agent's sound, over a `DuologueTransport`. A
 * `Voice` owns the microphone and the loudspeaker until it is disposed of.
 */
export { type DetectSpeech, energyDetector, type SpeechDetector } from '../../protocol/speech-detector.ts';
export { AudioError, type AudioErrorCode } from '../audio/audio-error.ts';
export { Camera, type CameraOptions, showPicture } from './camera.ts';
export { Voice } from './voice.ts';
export type { Microphone, Speaking, VoiceOptions, VoiceState, VoiceTransport } from './voice-state.ts';
