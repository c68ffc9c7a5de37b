import type { Message } from '../../protocol/index.ts';
import type { PageRequest, SessionKey, Store } from './store.ts';

/** How many messages are read when a process opens a session. */
const RECENT: PageRequest = { count: 2000, bytes: 8 * 1024 * 1024 };

/** The newest page of a session's messages, after those older messages whose ids are in `named`. */
export async function recentMessages(
  store: Store,
  key: SessionKey,
  named: Iterable<string> = [],
  page: PageRequest = RECENT,
): Promise<{ messages: Message[]; older: string | null }> {
  const found = await store.loadPage(key, page);
  const messages = found?.messages ?? [];
  const [first] = messages;
  if (!found?.hasOlder || first === undefined) return { messages, older: null };
  const known = new Set(messages.map(({ id }) => id));
  const before: Message[] = [];
  for (const id of new Set(named)) {
    const message = known.has(id) ? null : await store.loadMessage(key, id);
    if (message) before.push(message);
  }
  return { messages: [...before, ...messages], older: first.id };
}
