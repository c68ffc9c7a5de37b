import type { Message, MessagePart } from '../../protocol/index.ts';
import { textOf } from './output.ts';

/** How many characters back a word boundary is searched, so that a cut text does not end within a word. */
const WORD = 24;
/** No voice speaks more characters a second: about 250 words a minute. */
const FASTEST = 25;
/** The seconds of sound that suffice to measure the speed of a voice. */
const ENOUGH = 1;

/** The number of characters of a text that were spoken when that share of its sound was played, rounded down to whole words where possible. */
export function heardLength(text: string, share: number): number {
  const length = Math.floor(text.length * Math.min(1, Math.max(0, share)));
  if (length >= text.length) return text.length;
  const spoken = text.slice(0, length);
  if (/\s/.test(text.charAt(length))) return spoken.trimEnd().length;
  const space = spoken.search(/\s\S*$/);
  if (space !== -1 && length - space <= WORD) return spoken.slice(0, space).trimEnd().length;
  if (space === -1 && length <= WORD && /^\w+$/.test(spoken)) return 0;
  // A text without spaces may be cut anywhere but within a character.
  const last = text.charCodeAt(length - 1);
  return last >= 0xd800 && last <= 0xdbff ? length - 1 : length;
}

/**
 * Estimates how many characters of a cut message were spoken in the sound that was sent. No model reports which word a piece of sound belongs to, so the
 * speed of the voice is taken from the newest of `others` that was spoken to its end. Without one, only words are left out that no voice could have reached.
 * The first word always stays, so that the message can be continued.
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

/** Cuts the text of a message to `length` characters. */
export function cutText(message: Message, length: number): void {
  let rest = length;
  message.parts = message.parts.flatMap((part): MessagePart[] => {
    if (part.type !== 'text') return [part];
    const text = part.text.slice(0, rest);
    rest -= text.length;
    return text === '' ? [] : [{ ...part, text }];
  });
}
