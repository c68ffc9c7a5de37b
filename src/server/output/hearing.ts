import type { Message, MessagePart } from '../../protocol/index.ts';

/** How far back a place to cut is looked for: nobody is heard to have said half a word. */
const WORD = 24;

/** What a message says in words. */
export function textOf({ parts }: Message): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** How many characters of a text were heard, when that share of its sound was played: whole words, where it has words. */
export function heardLength(text: string, share: number): number {
  const length = Math.floor(text.length * Math.min(1, Math.max(0, share)));
  if (length >= text.length) return text.length;
  const spoken = text.slice(0, length);
  if (/\s/.test(text.charAt(length))) return spoken.trimEnd().length;
  const space = spoken.search(/\s\S*$/);
  if (space !== -1 && length - space <= WORD) return spoken.slice(0, space).trimEnd().length;
  if (space === -1 && length <= WORD && /^\w+$/.test(spoken)) return 0;
  // Without spaces any place will do, but for the middle of a character.
  const last = text.charCodeAt(length - 1);
  return last >= 0xd800 && last <= 0xdbff ? length - 1 : length;
}

/** Leaves so many characters of what a message says. */
export function cutText(message: Message, length: number): void {
  let rest = length;
  message.parts = message.parts.flatMap((part): MessagePart[] => {
    if (part.type !== 'text') return [part];
    const text = part.text.slice(0, rest);
    rest -= text.length;
    return text === '' ? [] : [{ ...part, text }];
  });
}
