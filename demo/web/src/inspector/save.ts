import type { UseDuologueHelpers } from 'duologue/react';
import type { Recording } from '../wire/recording.ts';
import type { WireSource } from './row-log.ts';

/** What a source holds, with what the page shows, as a recording. */
export function recordingOf(source: WireSource, chat: UseDuologueHelpers): Recording {
  return {
    format: 'duologue-recording',
    version: 1,
    mode: chat.mode,
    sessionId: chat.session.id,
    recordedAt: new Date().toISOString(),
    isCut: source.dropped > 0,
    events: [...source.events],
    messages: chat.messages,
  };
}

/** Gives the person a file. */
export function saveFile(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken it once the click was worked on.
  setTimeout(() => URL.revokeObjectURL(url), 1_000);
}
