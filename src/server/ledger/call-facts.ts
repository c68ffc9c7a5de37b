import type { CallDecider, CallFacts } from '../../adk/for-server.ts';
import type { Message, PageMetadata } from '../../protocol/index.ts';
import { SERVER_METADATA } from '../../protocol/wire/values.ts';
import type { Circumstances } from '../conversation/state/inputs.ts';
import type { CallRecord, SessionKey, Store } from '../store/store.ts';

/** The limits of one read of messages or audit lines from the store. */
const PAGE = { count: 50, bytes: 256 * 1024 };

/** Completes the facts that the state knows about a call with the facts that only the store has. */
export async function completeFacts(
  { facts, metadataBefore: before, approverOf: call }: Circumstances,
  store: Store,
  key: SessionKey,
): Promise<CallFacts> {
  const { request } = facts;
  const metadata = before === undefined ? facts.metadata : await metadataBefore(before, store, key);
  return { request, metadata, decidedBy: call ? await approverOf(call, store, key) : facts.decidedBy };
}

/**
 * The metadata of the last user message before an assistant message, or of the last user message of all when the assistant message is not stored yet; empty
 * when there is no user message.
 */
async function metadataBefore(
  messageId: string | null,
  store: Store,
  key: SessionKey,
): Promise<PageMetadata> {
  let before = messageId ?? undefined;
  for (;;) {
    const page = (await store.loadPage(key, { ...PAGE, before })) ?? (await store.loadPage(key, PAGE));
    const asked = page?.messages.findLast(({ role }) => role === 'user');
    if (asked) return metadataOf(asked);
    before = page?.messages[0]?.id;
    if (!page?.hasOlder || before === undefined) return {};
  }
}

function metadataOf({ metadata = {} }: Message): PageMetadata {
  return Object.fromEntries(Object.entries(metadata).filter(([name]) => !SERVER_METADATA.has(name)));
}

/** Who approved a call, from the audit log; null when the log does not have the approval. */
async function approverOf(call: CallRecord, store: Store, key: SessionKey): Promise<CallDecider | null> {
  let before: number | undefined;
  for (;;) {
    const { lines, older } = await store.loadAuditPage(key, { ...PAGE, before });
    const line = lines.findLast(({ kind, toolCallId }) => kind === 'approved' && toolCallId === call.id);
    if (line) return line.by ?? { user: key.user };
    if (older === null) return null;
    before = older;
  }
}
