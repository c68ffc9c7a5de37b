import { type Chunk, type Message, MessageFold, type MessagePart, unfold } from '../../protocol/index.ts';
import { hasOutcome } from '../../protocol/tool-call.ts';
import type { ChunkLog } from './log.ts';

/** An assistant message, built from its chunks in the log. */
interface LoggedMessage {
  fold: MessageFold;
  /** Whether the log has the message from its first `start` on. */
  isWhole: boolean;
  /** Whether the log has a `finish` of the message, and no later `start`. */
  isOver: boolean;
}

/** The messages that a log contains. */
interface LogContent {
  messages: Map<string, LoggedMessage>;
  /** The ids of all messages in the log, user messages included. */
  known: Set<string>;
  /** The id of the message of the last `start`; null when an end mark follows it. Undefined when the log no longer has that `start`. */
  current: string | null | undefined;
}

/** Facts about the session that are known after its recovery. */
export interface StoredState {
  /** The ids of messages with an open call: one that waits for an answer, or that this process continues. */
  open: ReadonlySet<string>;
  /** The ids of the assistant messages that will answer queued user messages. */
  awaited: ReadonlySet<string>;
}

/**
 * Returns the messages to store again because the log has text that the store lacks: the earlier owner of the session died between two drafts. Only text
 * can be missing in the store, because approval requests and the ends of responses are stored before they are sent.
 */
export function messagesToStore(log: ChunkLog, stored: readonly Message[]): Message[] {
  const found: Message[] = [];
  for (const [id, { fold, isWhole, isOver }] of read(log).messages) {
    if (isOver || !isWhole || fold.message.parts.length === 0) continue;
    const message = stored.find((one) => one.id === id);
    const more = message ? withLongerText(message, fold.message) : onlyText(fold.message);
    if (more) found.push(more);
  }
  return found;
}

/** The ids of all messages in a log. */
export function messagesIn(log: ChunkLog): ReadonlySet<string> {
  return read(log).known;
}

/** Returns the chunks to append to a log so that it matches the stored messages; null when no chunks can achieve that. */
export function restOf(
  log: ChunkLog,
  stored: readonly Message[],
  { open, awaited }: StoredState,
): (Chunk | null)[] | null {
  const { messages, known, current } = read(log);
  const missing: (Chunk | null)[] = [];
  // The log ends with chunks of a message whose `start` it no longer has. So the message cannot be compared with the stored message.
  if (current === undefined) return null;
  let isIn = current;
  const end = (messageId: string, finish: Chunk) => {
    if (isIn !== messageId) missing.push({ type: 'start', messageId });
    missing.push(finish, null);
    isIn = null;
  };
  // The appended chunks come directly after those of the current message, so the current message is completed first, without another `start`.
  const logged = [...messages].sort(([one], [other]) => Number(other === current) - Number(one === current));
  for (const [id, { fold, isWhole, isOver }] of logged) {
    if (isOver) {
      if (isIn === id) missing.push(null);
      if (isIn === id) isIn = null;
      continue;
    }
    const message = stored.find((one) => one.id === id);
    if (!message) {
      if (fold.message.parts.length > 0) return null;
      if (!awaited.has(id)) end(id, EMPTY_FINISH);
      continue;
    }
    const more = isWhole ? differences(fold, message) : null;
    if (!more) return null;
    if (more.length > 0 && isIn !== id) missing.push({ type: 'start', messageId: id });
    if (more.length > 0) isIn = id;
    missing.push(...more);
    if (!open.has(id)) end(id, finishOf(message));
  }
  const unlogged = stored.slice(stored.findLastIndex(({ id }) => known.has(id)) + 1);
  // The log has none of the stored messages. So it is the log of another conversation, or its beginning is lost.
  if (unlogged.length === stored.length && stored.length > 0) return null;
  return [...missing, ...unlogged.flatMap((message) => anew(message, open))];
}

const EMPTY_FINISH: Chunk = {
  type: 'finish',
  finishReason: 'other',
  messageMetadata: { interrupted: true, cutOff: true },
};

function read(log: ChunkLog): LogContent {
  const messages = new Map<string, LoggedMessage>();
  const known = new Set<string>();
  let current: string | null | undefined = log.first === 1 ? null : undefined;
  for (let entry = log.at(log.first); entry; entry = log.at(entry.seq + 1)) {
    const { chunk, seq } = entry;
    if (chunk === null) current = null;
    else if (chunk.type === 'data-message') known.add(chunk.data.message.id);
    // A rewind has removed messages from the store, so the messages before it are not compared with the stored ones.
    else if (chunk.type === 'data-rewind') messages.clear();
    else if (chunk.type === 'start' && chunk.messageId !== undefined) {
      current = chunk.messageId;
      known.add(current);
      const message = messages.get(current) ?? {
        fold: new MessageFold({ id: current, role: 'assistant', parts: [] }),
        // Only the first `start` of a message has metadata.
        isWhole: chunk.messageMetadata != null,
        isOver: false,
      };
      message.isOver = false;
      message.fold.push(chunk);
      messages.set(current, message);
    } else if (typeof current === 'string') {
      const message = messages.get(current);
      // The stored message has no part for the `start-step` before an approval request, so this message must have none either.
      const isOfRequest =
        chunk.type === 'start-step' && log.at(seq + 1)?.chunk?.type === 'tool-approval-request';
      // Add a copy, because the fold may change the chunk.
      if (!isOfRequest) message?.fold.push(structuredClone(chunk));
      if (message && chunk.type === 'finish') message.isOver = true;
    }
  }
  return { messages, known, current };
}

/** Returns the message if it has only text and reasoning; otherwise null. Used for a message that the store does not have. */
function onlyText(message: Message): Message | null {
  return message.parts.every(isTextPart) ? message : null;
}

/** The stored message with the text that only the log has; null when no text is missing, or when the two do not match. */
function withLongerText(stored: Message, logged: Message): Message | null {
  const parts = [...stored.parts];
  let isMore = false;
  for (const [index, part] of logged.parts.entries()) {
    const has = parts[index];
    if (has === undefined) {
      if (!isTextPart(part)) return null;
      parts.push(part);
      isMore = true;
    } else if (has.type !== part.type) return null;
    else if (isTextPart(part) && isTextPart(has) && part.text.length > has.text.length) {
      if (!part.text.startsWith(has.text)) return null;
      parts[index] = part;
      isMore = true;
    }
  }
  return isMore ? { ...stored, parts } : null;
}

/** Whether a part is text or reasoning. The store may lack such parts of a message in progress, and then the next owner takes them from the log. */
export function isTextPart(part: MessagePart): part is Extract<MessagePart, { type: 'text' | 'reasoning' }> {
  return part.type === 'text' || part.type === 'reasoning';
}

/** The chunks that turn the message of the log into the stored message; null when no chunks can. */
function differences(fold: MessageFold, stored: Message): Chunk[] | null {
  const missing: Chunk[] = [];
  const { parts } = fold.message;
  const blocks = new Map(fold.openBlocks.map(({ id, part }) => [part as MessagePart, id]));
  for (const [index, logged] of parts.entries()) {
    const part = stored.parts[index];
    if (part?.type !== logged.type) return null;
    if (isTextPart(part) && isTextPart(logged)) {
      const id = blocks.get(logged);
      const rest = part.text.slice(logged.text.length);
      if (!part.text.startsWith(logged.text) || (rest && id === undefined)) return null;
      if (id === undefined) continue;
      if (rest) missing.push({ type: `${part.type}-delta`, id, delta: rest });
      missing.push({ type: `${part.type}-end`, id });
    } else if ('toolCallId' in part && 'toolCallId' in logged) {
      const more = part.toolCallId === logged.toolCallId ? callRest(logged, part) : null;
      if (!more) return null;
      missing.push(...more);
    }
  }
  return [...missing, ...stored.parts.slice(parts.length).flatMap(chunksOf)];
}

type ToolPart = Extract<MessagePart, { toolCallId: string }>;

/** The chunks of a call that the log lacks; null when the log has an outcome that the store lacks. */
function callRest(logged: ToolPart, stored: ToolPart): Chunk[] | null {
  if (hasOutcome(logged)) return hasOutcome(stored) ? [] : null;
  const wasAsked = logged.state === 'approval-requested' || logged.state === 'approval-responded';
  return chunksOf(stored).filter(({ type }) => {
    if (type.startsWith('tool-output-')) return true;
    if (type === 'tool-input-start') return false;
    return type === 'tool-input-available' ? logged.state === 'input-streaming' : !wasAsked;
  });
}

/** The chunks of a part. Step chunks surround an approval request, as over a socket. */
function chunksOf(part: MessagePart): Chunk[] {
  const message: Message = { id: '', role: 'assistant', parts: [part] };
  return unfold(message)
    .slice(1, -1)
    .flatMap((chunk): Chunk[] =>
      chunk.type === 'tool-approval-request'
        ? [{ type: 'start-step' }, chunk, { type: 'finish-step' }]
        : [chunk],
    );
}

/** The `finish` of a message, with the metadata of the message. */
function finishOf(message: Message): Chunk {
  const [finish] = unfold(message).slice(-1);
  const { metadata } = message;
  return { ...(finish ?? EMPTY_FINISH), ...(metadata && { messageMetadata: metadata }) } as Chunk;
}

/** The chunks of a message that is not in the log. */
function anew(message: Message, open: ReadonlySet<string>): (Chunk | null)[] {
  if (message.role === 'user') return [{ type: 'data-message', data: { message }, transient: true }];
  const start = unfold(message).slice(0, 1);
  const missing = message.parts.flatMap(chunksOf);
  return [...start, ...missing, ...(open.has(message.id) ? [] : [finishOf(message), null])];
}
