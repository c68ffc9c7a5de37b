import type { Message } from '../protocol/chunks.ts';

/**
 * The messages of the server; but of an answer that it lost the end of in a crash, the page goes on showing what it has
 * shown, until it is loaded again.
 */
export function withShownText(messages: readonly Message[], shown: readonly Message[]): Message[] {
  return messages.map((message) => {
    const before = shown.find(({ id }) => id === message.id);
    if (message.metadata?.cutOff !== true || !before) return message;
    const more = before.parts.slice(message.parts.length).filter(isText);
    const parts = message.parts.map((part, index) => longer(part, before.parts[index]));
    return { ...message, parts: [...parts, ...more.map((part) => ({ ...part, state: 'done' as const }))] };
  });
}

type Part = Message['parts'][number];

function isText(part: Part | undefined): part is Extract<Part, { type: 'text' | 'reasoning' }> {
  return part?.type === 'text' || part?.type === 'reasoning';
}

/** The part, with all the words that were shown of it. */
function longer(part: Part, shown: Part | undefined): Part {
  const isSame =
    isText(part) && isText(shown) && shown.type === part.type && shown.text.startsWith(part.text);
  return isSame ? { ...part, text: shown.text } : part;
}
