import type { Message } from 'duologue/protocol';

/** The text parts of a message, joined. */
export function textOf(message: Message): string {
  return message.parts
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('\n\n')
    .trim();
}

/** The file parts of a message, in the form in which `sendMessage` takes them. */
export function filesOf(message: Message) {
  return message.parts.filter((part) => part.type === 'file');
}
