/** Why there is no sound. */
export type AudioErrorCode =
  | 'deaf'
  | 'unreachable'
  | 'elsewhere'
  | 'refused'
  | 'none'
  | 'busy'
  | 'insecure'
  | 'unsupported'
  | 'worklet'
  | 'unplugged';

const WORDS: Readonly<Record<AudioErrorCode, string>> = {
  deaf: 'The model behind this conversation cannot hear. Write to it instead.',
  unreachable: 'There is no connection to the server.',
  elsewhere: 'The conversation went on in another tab or on another device, and so did its sound.',
  refused: 'The device may not be used: allow it in the settings of the browser for this page.',
  none: 'There is no such device, or not the one that was chosen.',
  busy: 'The device cannot be used: another program may be using it.',
  insecure: 'Microphones work only on pages that come over https or from localhost.',
  unsupported: 'This browser cannot do that.',
  worklet: 'The sound worklet could not be loaded: see the option workletUrl.',
  unplugged: 'The device was unplugged or switched off.',
};

const NAMES: Readonly<Record<string, AudioErrorCode>> = {
  NotAllowedError: 'refused',
  SecurityError: 'refused',
  NotFoundError: 'none',
  OverconstrainedError: 'none',
  NotReadableError: 'busy',
  AbortError: 'busy',
};

/** Something about microphones or loudspeakers that a person can be told. */
export class AudioError extends Error {
  override readonly name = 'AudioError';
  readonly code: AudioErrorCode;

  constructor(code: AudioErrorCode, cause?: unknown) {
    super(WORDS[code], { cause });
    this.code = code;
  }

  /** What the browser said when it was asked for a device. */
  static from(cause: unknown): AudioError {
    if (cause instanceof AudioError) return cause;
    return new AudioError(NAMES[(cause as Error | null)?.name ?? ''] ?? 'unsupported', cause);
  }
}
