import type { Message } from 'duologue/protocol';
import { useEffect, useRef } from 'react';
import { useMessages } from '../i18n/language.tsx';
import type { CurrentSession } from '../sessions/current-session.ts';
import type { Sessions } from '../sessions/use-sessions.ts';
import { textOf } from './message-text.ts';

const LENGTH = 60;

/**
 * The name of a conversation: the stored one, otherwise the beginning of the first user message, which is then stored
 * as the name. Also sets the title of the browser tab.
 */
export function useTitle(
  current: CurrentSession,
  sessions: Sessions,
  messages: readonly Message[],
  /** Whether the server has earlier messages. Then the first user message is not known. */
  hasOlder: boolean,
  /** The text before the name in the title of the browser tab; null for none. */
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
  // The beginning of the first message, when this page last compared it with the stored name.
  const named = useRef<string | null>(null);
  // A name can be stored only for a session that the server has stored. A message of the assistant proves that it
  // has.
  const isKnown = entry !== undefined && messages.some(({ role }) => role === 'assistant');
  const given = entry?.title ?? null;
  // A conversation that is no longer in the list was deleted on another page, so it must not be added
  // again.
  const wasListed = useRef(false);
  // A first message without text, such as a picture, starts a conversation too.
  const isMissing = isLoaded && first !== undefined && entry === undefined && !isBegun;
  useEffect(() => {
    if (isMissing && !wasListed.current) begin(id, short || words.untitled);
    if (entry !== undefined) wasListed.current = true;
  }, [begin, entry, id, isMissing, short, words.untitled]);
  useEffect(() => {
    if (!isKnown || short === '' || named.current === short) return;
    // A name that the user chose stays. A name from the first message follows it when the message is edited.
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
