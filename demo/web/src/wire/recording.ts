import type { Message } from 'duologue/protocol';
import type { Mode } from 'duologue/react';
import type { WireEvent } from './wire-event.ts';

/** The content of a file with the wire events of one conversation, which the page can replay without a server. */
export interface Recording {
  format: 'duologue-recording';
  version: 1;
  mode: Mode;
  sessionId: string;
  recordedAt: string;
  /** Whether the beginning is missing, because it was too long to keep. */
  isCut: boolean;
  events: WireEvent[];
  /** What the page showed when the recording was saved. */
  messages: Message[];
}
