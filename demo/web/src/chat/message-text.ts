import type { Message } from 'duologue/protocol';

/** Everything that a message says in words. */
export function textOf(message: Message): string {
  return message.parts
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('\n\n')
    .trim();
}

/** The files of a message, as they would be sent again. */
export function filesOf(message: Message) {
  return message.parts.filter((part) => part.type === 'file');
}
