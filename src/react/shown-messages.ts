import type { Pending } from '../client/index.ts';
import type { Chunk, DataParts, Message } from '../protocol/chunks.ts';
import { MessageFold } from '../protocol/fold.ts';
import type { TransientData } from './options.ts';

/**
 * Applies changes to the messages of a chat that do not arrive in a response: changes of other pages, and chunks that no response reads. Changes of
 * other pages are queued, because a chat that is reading a response would overwrite them.
 */
export class ShownMessages {
  readonly #chat: { messages: Message[] };
  /** Changes that are not shown yet, in order. `after`: the id of a message whose unread chunks must be shown before the change. */
  #queue: { data: TransientData; after: string | undefined }[] = [];
  /** The id of the last text block that `add` appended, by message. */
  readonly #lastBlocks = new Map<string, string>();

  /** The id of the first shown message when the server has older ones, else null. */
  #older: string | null = null;

  constructor(chat: { messages: Message[] }) {
    this.#chat = chat;
  }

  /** The id to pass to `readPage` for the messages before the shown ones; null when the server has no messages before them. */
  get older(): string | null {
    return this.#older;
  }

  /** Whether the message with this id is shown. */
  has(messageId: string): boolean {
    return this.#chat.messages.some(({ id }) => id === messageId);
  }

  /** Queues a change. `after`: the id of a message whose unread chunks must be shown before the change; undefined when there is no such message. */
  queue(data: TransientData, after: string | undefined): void {
    this.#queue.push({ data, after });
  }

  /** Shows queued changes in order, and stops at the first one whose `after` is a message with unread chunks (`pending`). */
  showQueued(pending: readonly Pending[]): void {
    const at = this.#queue.findIndex(({ after }) => pending.some(({ messageId }) => messageId === after));
    for (const { data } of this.#queue.splice(0, at === -1 ? this.#queue.length : at)) this.#show(data);
  }

  clearQueue(): void {
    this.#queue = [];
  }

  /** Adds chunks to a message. A text block that arrives in several pieces stays one part. */
  add(messageId: string, chunks: readonly Chunk[]): void {
    this.#replace(messageId, (message) => {
      const copy = structuredClone(message);
      const count = copy.parts.length;
      const fold = new MessageFold(copy);
      for (const chunk of chunks) fold.push(chunk);
      const starts = chunks.filter((chunk) => chunk.type === 'text-start');
      const continuesBlock = chunks[0] === starts[0] && starts[0]?.id === this.#lastBlocks.get(messageId);
      if (continuesBlock) joinTexts(copy, count);
      const last = starts.at(-1);
      if (last) this.#lastBlocks.set(messageId, last.id);
      return copy;
    });
  }

  /** Shows the outcome of a call in an earlier message. */
  settle({ toolCallId, messageId, errorText }: DataParts['settled']): void {
    this.add(messageId, [{ type: 'tool-output-error', toolCallId, errorText }]);
  }

  /**
   * Replaces the shown messages with the messages of the server. `older` is the id of the first message of the server, if the server has
   * messages before it. Shown messages before that first message stay. A message whose end the server lost in a crash keeps the text that the page has shown.
   */
  reset(messages: readonly Message[], older?: string): void {
    const shown = this.#chat.messages;
    this.load(messages, older ?? null);
    this.#chat.messages = this.#chat.messages.map((message) =>
      withShownText(
        message,
        shown.find(({ id }) => id === message.id),
      ),
    );
  }

  /** Shows the newest page of messages. Older messages that are already shown stay before it. */
  load(messages: readonly Message[], older: string | null): void {
    const shown = this.#chat.messages;
    const place = shown.findIndex(({ id }) => id === older);
    const before = shown
      .slice(0, Math.max(place, 0))
      .filter(({ id }) => !messages.some((one) => one.id === id));
    if (before.length === 0) this.#older = older;
    this.#chat.messages = [...before, ...messages];
  }

  /**
   * Adds an older page of messages before the shown ones. A message of that page may be shown already, because a reset also includes older
   * messages that wait for an answer. The shown version of such a message stays.
   */
  addOlder(messages: readonly Message[], older: string | null): void {
    const shown = this.#chat.messages;
    const page = messages.map((message) => shown.find(({ id }) => id === message.id) ?? message);
    this.#older = older;
    this.#chat.messages = [...page, ...shown.filter((message) => !page.includes(message))];
  }

  #show(change: TransientData): void {
    switch (change.type) {
      case 'data-settled':
        return this.settle(change.data);
      case 'data-heard':
        return this.#cut(change.data);
      case 'data-message':
        return this.#append(change.data.message);
      case 'data-decided':
        return this.#decide(change.data);
      case 'data-rewind':
        return this.#rewind(change.data);
      default:
        // Other data does not change a message.
        return;
    }
  }

  /** Cuts the texts of a message, taken together, to the length that the user heard. */
  #cut({ messageId, length }: DataParts['heard']): void {
    this.#replace(messageId, (message) => {
      let left = length;
      const parts = message.parts.flatMap((part): Message['parts'] => {
        if (part.type !== 'text') return [part];
        const text = part.text.slice(0, left);
        left -= text.length;
        return text === '' ? [] : [{ ...part, text }];
      });
      return { ...message, parts };
    });
  }

  /** Adds a user message of another page, unless it is shown already. */
  #append(message: Message): void {
    if (!this.has(message.id)) this.#chat.messages = [...this.#chat.messages, message];
  }

  #decide({ toolCallId, messageId, approved, reason }: DataParts['decided']): void {
    this.#replace(messageId, (message) => {
      const fold = new MessageFold(structuredClone(message));
      fold.decide(toolCallId, approved, reason);
      return fold.message;
    });
  }

  /** Removes a message and all after it. */
  #rewind({ messageId }: DataParts['rewind']): void {
    const index = this.#chat.messages.findIndex(({ id }) => id === messageId);
    if (index !== -1) this.#chat.messages = this.#chat.messages.slice(0, index);
  }

  #replace(messageId: string, change: (message: Message) => Message): void {
    const { messages } = this.#chat;
    const index = messages.findIndex(({ id }) => id === messageId);
    const message = messages[index];
    if (message) this.#chat.messages = messages.with(index, change(message));
  }
}

/** Joins the text part at the index with the one before it. */
function joinTexts({ parts }: Message, index: number): void {
  const [before, after] = [parts[index - 1], parts[index]];
  if (before?.type !== 'text' || after?.type !== 'text') return;
  before.text += after.text;
  parts.splice(index, 1);
}

type Part = Message['parts'][number];

/** Returns the message of the server. If a crash of the server cut the message off, the result also has the text that only the page has. */
function withShownText(message: Message, shown: Message | undefined): Message {
  if (message.metadata?.cutOff !== true || !shown) return message;
  const parts = message.parts.map((part, index) => longerPart(part, shown.parts[index]));
  const more = shown.parts.slice(message.parts.length).filter(isText);
  return { ...message, parts: [...parts, ...more.map((part) => ({ ...part, state: 'done' as const }))] };
}

function isText(part: Part | undefined): part is Extract<Part, { type: 'text' | 'reasoning' }> {
  return part?.type === 'text' || part?.type === 'reasoning';
}

function longerPart(part: Part, shown: Part | undefined): Part {
  const isSame =
    isText(part) && isText(shown) && shown.type === part.type && shown.text.startsWith(part.text);
  return isSame ? { ...part, text: shown.text } : part;
}
