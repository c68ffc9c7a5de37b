/**
 * A voice for a conversation, without React: the microphone, who may speak, interruption, and the agent's sound, over a
 * `DuologueTransport`. The object owns microphone and loudspeaker, and lets go of them when it is disposed of.
 */
export { AudioError, type AudioErrorCode } from '../audio/audio-error.ts';
export { Camera, type CameraOptions, showPicture } from './camera.ts';
export {
  type DetectSpeech,
  type EnergyGateOptions,
  energyGate,
  type SpeechDetector,
} from './speech-detector.ts';
export { Voice } from './voice.ts';
export type { Microphone, Speaking, VoiceOptions, VoiceState, VoiceTransport } from './voice-state.ts';
