import type { AudioError } from '../audio/audio-error.ts';
import type { Connection } from '../link/index.ts';
import type { DetectSpeech } from './speech-detector.ts';

/** How a person speaks: while a key or button is held, or whenever they say something. */
export type Speaking = 'hold' | 'hands-free';

/** What the microphone is doing. */
export type Microphone =
  | { status: 'off'; error: AudioError | null }
  | { status: 'starting'; how: Speaking }
  /** It is on, and nobody says anything. */
  | { status: 'listening'; how: Speaking }
  /** The person is speaking, and is heard. */
  | { status: 'hearing'; how: Speaking }
  /** It is on, and nothing of it is listened to. */
  | { status: 'paused'; how: Speaking; why: 'muted' | 'hidden' };

/** All there is to know of a voice. */
export type VoiceState = Microphone & Hearing;

/** What a voice is beside its microphone. */
export interface Hearing {
  /** Who speaks now. */
  speaker: 'person' | 'agent' | null;
  /** Whether the person wants to hear the agent; what it says can be read as well. */
  isSilent: boolean;
  /** Whether the browser waits for a click before it lets the agent be heard. */
  isBlocked: boolean;
}

/** What a voice needs of a transport. */
export interface VoiceTransport {
  readonly connection: Connection;
  connect(chatId: string): void;
}

/** What a voice may be told. */
export interface VoiceOptions {
  /** Finds out when the person speaks; by loudness unless told otherwise. */
  detect?: DetectSpeech;
  /** Wishes beyond mono sound without echo and noise. */
  constraints?: MediaTrackConstraints;
  /** Which microphone and which loudspeaker; else those that the browser prefers. */
  microphone?: string;
  loudspeaker?: string;
  /** How sound goes up: in binary, or as text to servers that know none of the subprotocols. */
  wire?: 'binary' | 'text';
  /** Where the worklets of this package are served. */
  workletUrls?: { recorder?: string | URL; player?: string | URL };
}
