import type { Message, MessagePart } from '../../protocol/index.ts';
import { textOf } from './output.ts';

/** How many characters before the cut are searched for a word boundary, so that the cut text does not end within a word. */
const WORD = 24;
/** The highest speed of a voice in characters a second: about 250 words a minute. */
const FASTEST = 25;
/** How many seconds of sound a message needs, so that the speed of its voice can be measured. */
const ENOUGH = 1;

/** How many characters of a text were spoken when `share` of its sound was played (from 0 to 1), rounded down to whole words where possible. */
export function heardLength(text: string, share: number): number {
  const length = Math.floor(text.length * Math.min(1, Math.max(0, share)));
  if (length >= text.length) return text.length;
  const spoken = text.slice(0, length);
  if (/\s/.test(text.charAt(length))) return spoken.trimEnd().length;
  const space = spoken.search(/\s\S*$/);
  if (space !== -1 && length - space <= WORD) return spoken.slice(0, space).trimEnd().length;
  if (space === -1 && length <= WORD && /^\w+$/.test(spoken)) return 0;
  // A text without spaces may be cut between any two characters, but not within a surrogate pair.
  const last = text.charCodeAt(length - 1);
  return last >= 0xd800 && last <= 0xdbff ? length - 1 : length;
}

/**
 * Estimates how many characters of a cut message were spoken in the sound that was sent. No model reports which word a piece of sound belongs to, so
 * the speed of the voice is measured in the newest message of `others` that was spoken completely. If there is none, the highest speed of a voice is assumed.
 * The result includes at least the first word, so that the message can be continued.
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
