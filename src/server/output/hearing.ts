import type { Message, MessagePart } from '../../protocol/index.ts';

/** How far back a place to cut is looked for: nobody is heard to have said half a word. */
const WORD = 24;
/** Characters a second that no voice exceeds: about 250 words a minute. */
const FASTEST = 25;
/** Seconds of sound from which the pace of a voice can be told. */
const ENOUGH = 1;

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

/**
 * How many characters of a message can have been spoken in the sound that was sent of it, for a message that was cut off. No model tells which
 * word a piece of sound belongs to: the newest message of `others` that was spoken to its end tells how fast this voice speaks. Without one,
 * only words are left out that no voice could have reached. The first word always stays, so that the message can be continued.
 */
export function sentLength(message: Message, others: readonly Message[]): number {
  const text = textOf(message);
  const { duration = 0 } = message.metadata?.audio ?? {};
  const whole = others.findLast(({ metadata }) => {
    const isWhole = metadata?.usage !== undefined && !metadata.interrupted && !metadata.failed;
    return isWhole && (metadata.audio?.duration ?? 0) >= ENOUGH;
  });
  const pace = whole ? textOf(whole).length / (whole.metadata?.audio?.duration ?? 1) : FASTEST;
  const [first = ''] = /^\s*\S+/.exec(text) ?? [];
  return Math.max(heardLength(text, (duration * pace) / text.length), first.length);
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
