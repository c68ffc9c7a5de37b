import type { DetectSpeech } from '../../protocol/speech-detector.ts';
import type { AudioError } from '../audio/audio-error.ts';
import type { Connection } from '../link/index.ts';

/** How the user talks: while holding a key or button (`hold`), or with a microphone that stays on (`hands-free`). */
export type Speaking = 'hold' | 'hands-free';

/** The state of the microphone. */
export type Microphone =
  | { status: 'off'; error: AudioError | null }
  | { status: 'starting'; how: Speaking }
  /** The microphone is on, and the user is quiet. */
  | { status: 'listening'; how: Speaking }
  /** The user speaks, and the sound is sent. */
  | { status: 'hearing'; how: Speaking }
  /** The microphone is on, and its sound is ignored. */
  | { status: 'paused'; how: Speaking; why: 'muted' | 'hidden' };

/** The state of a voice besides its microphone. */
export interface Playback {
  /** Who speaks now. */
  speaker: 'person' | 'agent' | null;
  /** Whether the user turned the agent's sound off. */
  isSilent: boolean;
  /** Whether the browser waits for a click before it plays the agent's sound. */
  isBlocked: boolean;
}

/** The state of a voice. */
export type VoiceState = Microphone & Playback;

/** The part of a transport that a voice uses. */
export interface VoiceTransport {
  readonly connection: Connection;
  connect(chatId: string): void;
}

/** Options of a voice. */
export interface VoiceOptions {
  /** Detects when the user speaks. Default: `energyDetector()`. */
  detect?: DetectSpeech;
  /** Constraints beyond mono sound with echo cancellation, noise suppression and gain control. */
  constraints?: MediaTrackConstraints;
  /** Device ids. Default: the devices that the browser prefers. */
  microphone?: string | undefined;
  loudspeaker?: string | undefined;
  /** How sound is sent: in binary frames (default), or as base64 text for servers that do not support our subprotocols. */
  wire?: 'binary' | 'text';
  /** The URLs of the audio worklets of this package. */
  workletUrls?: { recorder?: string | URL; player?: string | URL };
}
