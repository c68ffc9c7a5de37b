import {
  type Chunk,
  isSettled,
  type Message,
  MessageFold,
  type MessagePart,
  unfold,
} from '../../protocol/index.ts';
import type { ChunkLog } from './log.ts';

/** A message as those know it who have read a log. */
interface HeardMessage {
  fold: MessageFold;
  /** Whether its first `start` is in the log. */
  isWhole: boolean;
  /** Whether it had a `finish`, and nothing was said of it since. */
  isOver: boolean;
}

/** What a log says. */
interface Heard {
  messages: Map<string, HeardMessage>;
  /** Every message that it speaks of, those of the person included. */
  known: Set<string>;
  /** The message of the last `start`, when no response ended since; undefined when its `start` is not in the log. */
  current: string | null | undefined;
}

/** How stored messages stand after they were brought in order. */
export interface Standing {
  /** Messages that wait for an answer. */
  open: ReadonlySet<string>;
  /** Messages that are about to be begun. */
  awaited: ReadonlySet<string>;
}

/**
 * The messages as they are to be stored because a log has words of them that the store has not: its owner died between two drafts. The store is never
 * behind with anything but words, since cards and ends are stored before they are told.
 */
export function heardIn(log: ChunkLog, stored: readonly Message[]): Message[] {
  const found: Message[] = [];
  for (const [id, { fold, isWhole, isOver }] of read(log).messages) {
    if (isOver || !isWhole || fold.message.parts.length === 0) continue;
    const message = stored.find((one) => one.id === id);
    const more = message ? withWords(message, fold.message) : onlyWords(fold.message);
    if (more) found.push(more);
  }
  return found;
}

/** The ids of the messages that a log has chunks of. */
export function messagesIn(log: ChunkLog): ReadonlySet<string> {
  return read(log).known;
}

/** What has to be said behind a log so that it ends where the stored messages do; null when the two do not go together. */
export function restOf(
  log: ChunkLog,
  stored: readonly Message[],
  { open, awaited }: Standing,
): (Chunk | null)[] | null {
  const { messages, known, current } = read(log);
  const said: (Chunk | null)[] = [];
  // What is being said belongs to a message of which nothing is known.
  if (current === undefined) return null;
  let isIn = current;
  const end = (messageId: string, finish: Chunk) => {
    if (isIn !== messageId) said.push({ type: 'start', messageId });
    said.push(finish, null);
    isIn = null;
  };
  // The one that is being said comes last to be begun, but first to be ended.
  const heard = [...messages].sort(([one], [other]) => Number(other === current) - Number(one === current));
  for (const [id, { fold, isWhole, isOver }] of heard) {
    if (isOver) {
      if (isIn === id) said.push(null);
      if (isIn === id) isIn = null;
      continue;
    }
    const message = stored.find((one) => one.id === id);
    if (!message) {
      if (fold.message.parts.length > 0) return null;
      if (!awaited.has(id)) end(id, NOTHING_SAID);
      continue;
    }
    const more = isWhole ? differences(fold, message) : null;
    if (!more) return null;
    if (more.length > 0 && isIn !== id) said.push({ type: 'start', messageId: id });
    if (more.length > 0) isIn = id;
    said.push(...more);
    if (!open.has(id)) end(id, finishOf(message));
  }
  const unheard = stored.slice(stored.findLastIndex(({ id }) => known.has(id)) + 1);
  // None of them is in the log: it is about something else, or its beginning is gone.
  if (unheard.length === stored.length && stored.length > 0) return null;
  return [...said, ...unheard.flatMap((message) => anew(message, open))];
}

const NOTHING_SAID: Chunk = {
  type: 'finish',
  finishReason: 'other',
  messageMetadata: { interrupted: true, cutOff: true },
};

function read(log: ChunkLog): Heard {
  const messages = new Map<string, HeardMessage>();
  const known = new Set<string>();
  let current: string | null | undefined = log.first === 1 ? null : undefined;
  for (let entry = log.at(log.first); entry; entry = log.at(entry.seq + 1)) {
    const { chunk, seq } = entry;
    if (chunk === null) current = null;
    else if (chunk.type === 'data-message') known.add(chunk.data.message.id);
    // What was taken back is in the store no more.
    else if (chunk.type === 'data-rewind') messages.clear();
    else if (chunk.type === 'start' && chunk.messageId !== undefined) {
      current = chunk.messageId;
      known.add(current);
      const message = messages.get(current) ?? {
        fold: new MessageFold({ id: current, role: 'assistant', parts: [] }),
        // What is known of a message at its birth is told then, and only then.
        isWhole: chunk.messageMetadata != null,
        isOver: false,
      };
      message.isOver = false;
      message.fold.push(chunk);
      messages.set(current, message);
    } else if (typeof current === 'string') {
      const message = messages.get(current);
      // The step around a request is no part of its message.
      const isOfRequest =
        chunk.type === 'start-step' && log.at(seq + 1)?.chunk?.type === 'tool-approval-request';
      // A copy: what it is folded into is changed.
      if (!isOfRequest) message?.fold.push(structuredClone(chunk));
      if (message && chunk.type === 'finish') message.isOver = true;
    }
  }
  return { messages, known, current };
}

/** A message that the store does not have yet: one that nothing but words were said of. */
function onlyWords(message: Message): Message | null {
  return message.parts.every(isWords) ? message : null;
}

/** A stored message with the words that were heard and that it lacks; null when there are none, or the two do not go together. */
function withWords(stored: Message, heard: Message): Message | null {
  const parts = [...stored.parts];
  let isMore = false;
  for (const [index, part] of heard.parts.entries()) {
    const has = parts[index];
    if (has === undefined) {
      if (!isWords(part)) return null;
      parts.push(part);
      isMore = true;
    } else if (has.type !== part.type) return null;
    else if (isWords(part) && isWords(has) && part.text.length > has.text.length) {
      if (!part.text.startsWith(has.text)) return null;
      parts[index] = part;
      isMore = true;
    }
  }
  return isMore ? { ...stored, parts } : null;
}

/** What a new owner takes from the log, though the store does not have it. */
export function isWords(part: MessagePart): part is Extract<MessagePart, { type: 'text' | 'reasoning' }> {
  return part.type === 'text' || part.type === 'reasoning';
}

/** The chunks that make of a message as it was heard the stored one; null when there are none such. */
function differences(fold: MessageFold, stored: Message): Chunk[] | null {
  const said: Chunk[] = [];
  const { parts } = fold.message;
  const blocks = new Map(fold.openBlocks.map(({ id, part }) => [part as MessagePart, id]));
  for (const [index, heard] of parts.entries()) {
    const part = stored.parts[index];
    if (part?.type !== heard.type) return null;
    if (isWords(part) && isWords(heard)) {
      const id = blocks.get(heard);
      const rest = part.text.slice(heard.text.length);
      if (!part.text.startsWith(heard.text) || (rest && id === undefined)) return null;
      if (id === undefined) continue;
      if (rest) said.push({ type: `${part.type}-delta`, id, delta: rest });
      said.push({ type: `${part.type}-end`, id });
    } else if ('toolCallId' in part && 'toolCallId' in heard) {
      const more = part.toolCallId === heard.toolCallId ? callRest(heard, part) : null;
      if (!more) return null;
      said.push(...more);
    }
  }
  return [...said, ...stored.parts.slice(parts.length).flatMap(chunksOf)];
}

type ToolPart = Extract<MessagePart, { toolCallId: string }>;

/** What is left to be said of a call; null when more was heard of it than is stored. */
function callRest(heard: ToolPart, stored: ToolPart): Chunk[] | null {
  if (isSettled(heard.state)) return isSettled(stored.state) ? [] : null;
  const wasAsked = heard.state === 'approval-requested' || heard.state === 'approval-responded';
  return chunksOf(stored).filter(({ type }) => {
    if (type.startsWith('tool-output-')) return true;
    if (type === 'tool-input-start') return false;
    return type === 'tool-input-available' ? heard.state === 'input-streaming' : !wasAsked;
  });
}

/** A part as if it were said again; a request stands in a step, as over a socket. */
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

/** The end of a message, with all that is known of it. */
function finishOf(message: Message): Chunk {
  const [finish] = unfold(message).slice(-1);
  const { metadata } = message;
  return { ...(finish ?? NOTHING_SAID), ...(metadata && { messageMetadata: metadata }) } as Chunk;
}

/** A message that nobody has heard of. */
function anew(message: Message, open: ReadonlySet<string>): (Chunk | null)[] {
  if (message.role === 'user') return [{ type: 'data-message', data: { message }, transient: true }];
  const start = unfold(message).slice(0, 1);
  const said = message.parts.flatMap(chunksOf);
  return [...start, ...said, ...(open.has(message.id) ? [] : [finishOf(message), null])];
}
