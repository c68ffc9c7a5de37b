import type { Message } from 'duologue/protocol';
import { useEffect, useRef } from 'react';
import { useMessages } from '../i18n/language.tsx';
import type { CurrentSession } from '../sessions/current-session.ts';
import type { Sessions } from '../sessions/use-sessions.ts';
import { textOf } from './message-text.ts';

const LENGTH = 60;

/** The name of a conversation: the one it was given, else its first words, which it then keeps, and stands in the list with. */
export function useTitle(
  current: CurrentSession,
  sessions: Sessions,
  messages: readonly Message[],
  /** Whether the conversation has messages before these: then its first words are not known. */
  hasOlder: boolean,
  /** What the tab of the browser shows before the name; null for nothing. */
  sign: string | null,
): string {
  const words = useMessages().sessions;
  const { id } = current;
  const { list, begun, isLoaded, begin, name } = sessions;
  const isBegun = begun.some((one) => one.id === id);
  const entry = isBegun ? undefined : list.find((one) => one.id === id);
  const first = messages.find(({ role }) => role === 'user');
  const text = first && !hasOlder ? textOf(first).replace(/\s+/g, ' ') : '';
  const short = text.length > LENGTH ? `${text.slice(0, LENGTH).trimEnd()}…` : text;
  // The words that the name was taken from, or might have been.
  const named = useRef<string | null>(null);
  // Only what the server knows can be given a name: an answer shows that it does.
  const isKnown = entry !== undefined && messages.some(({ role }) => role === 'assistant');
  const given = entry?.title ?? null;
  // A conversation that is no longer in the list was deleted on another page.
  const wasListed = useRef(false);
  // A picture alone has no words, but is a beginning too.
  const isMissing = isLoaded && first !== undefined && entry === undefined && !isBegun;
  useEffect(() => {
    if (isMissing && !wasListed.current) begin(id, short || words.untitled);
    if (entry !== undefined) wasListed.current = true;
  }, [begin, entry, id, isMissing, short, words.untitled]);
  useEffect(() => {
    if (!isKnown || short === '' || named.current === short) return;
    // A name that a user gave stays; one that was taken from words follows them when they are edited.
    const isOurs = given === null || given === named.current;
    named.current = short;
    if (isOurs) void name(id, short);
  }, [id, isKnown, short, given, name]);
  const title = given ?? (short || words.untitled);
  useEffect(() => {
    document.title = [sign, first ? title : null, 'Duologue'].filter((part) => part !== null).join(' · ');
  }, [first, title, sign]);
  return title;
}
