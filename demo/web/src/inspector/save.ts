import type { UseDuologueHelpers } from 'duologue/react';
import type { Recording } from '../wire/recording.ts';
import type { WireSource } from './row-log.ts';

/** Makes a recording: the events of a source, and the messages that the page shows. */
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

/** Downloads a file to the user's device. */
export function saveFile(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads the URL shortly after the click, so it is released a second later.
  setTimeout(() => URL.revokeObjectURL(url), 1_000);
}
