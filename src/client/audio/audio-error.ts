const TEXTS = {
  deaf: 'The model of this conversation does not accept audio. Type your message instead.',
  unreachable: 'There is no connection to the server. Check the network, then try again.',
  elsewhere: 'The conversation continues in another tab or on another device, and its sound plays there.',
  refused: 'This page may not use the {device}: allow it in the settings of the browser.',
  none: 'The {device} was not found: connect it, or choose another one.',
  busy: 'The {device} cannot be used: another program may be using it.',
  insecure:
    'Microphone, camera and screen can be used only on pages that were loaded over https or from localhost.',
  unsupported: 'This browser does not support this use of a microphone, camera, screen or loudspeaker.',
  worklet:
    'The audio worklet could not be loaded. Serve its file, and set the option "workletUrl" ("workletUrls" of a voice) to its URL.',
  unplugged: 'The {device} was disconnected, switched off, or is no longer shared.',
};

/** Why the user cannot talk with the agent, or why the page cannot use a microphone, camera, screen or loudspeaker. */
export type AudioErrorCode = keyof typeof TEXTS;

/** The kind of device that an error is about. */
type Device = 'microphone' | 'camera' | 'screen' | 'loudspeaker';

/** Maps the `name` of an error of the browser to our code. */
const CODES: Readonly<Record<string, AudioErrorCode>> = {
  NotAllowedError: 'refused',
  SecurityError: 'refused',
  NotFoundError: 'none',
  OverconstrainedError: 'none',
  NotReadableError: 'busy',
  AbortError: 'busy',
};

/** An error of the sound, camera or screen of a conversation. Its message is meant for the user. */
export class AudioError extends Error {
  override readonly name = 'AudioError';
  readonly code: AudioErrorCode;
  /** The device that could not be used; null when the error is not about one device. */
  readonly device: Device | null;

  constructor(code: AudioErrorCode, cause?: unknown, device: Device | null = null) {
    super(TEXTS[code].replace('{device}', device ?? 'device'), { cause });
    this.code = code;
    this.device = device;
  }

  /** Converts an error that the browser threw while a microphone, camera, screen or loudspeaker was opened. */
  static from(cause: unknown, device: Device | null = null): AudioError {
    if (cause instanceof AudioError) return cause;
    return new AudioError(CODES[(cause as Error | null)?.name ?? ''] ?? 'unsupported', cause, device);
  }
}
