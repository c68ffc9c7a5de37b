import type { Chunk, DataParts, Message } from '../protocol/chunks.ts';
import { MessageFold } from '../protocol/fold.ts';
import { LateChunks } from './late-chunks.ts';
import { withShownText } from './shown-text.ts';

/** The messages of a chat, changed from beside its responses. A response that is being read is not touched. */
export class ShownMessages {
  readonly #chat: { messages: Message[] };
  readonly #late = new LateChunks();
  /** The id of the first shown message when the server has older ones, else null. `readPage` takes it as `before`. */
  older: string | null = null;

  constructor(chat: { messages: Message[] }) {
    this.#chat = chat;
  }

  /** Chunks that nobody read, for a message that is shown. */
  add(messageId: string, chunks: readonly Chunk[]): void {
    this.#replace(messageId, (message) => this.#late.push(message, chunks));
  }

  /** A call of an earlier message ended without a chunk of its own. */
  settle({ toolCallId, messageId, errorText }: DataParts['settled']): void {
    this.add(messageId, [{ type: 'tool-output-error', toolCallId, errorText }]);
  }

  /** Of the texts of a message, taken together, only so much was heard: the rest was never said. */
  cut({ messageId, length }: DataParts['heard']): void {
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

  /** The person said something on another page; what is shown already stays. */
  say(message: Message): void {
    if (!this.has(message.id)) this.#chat.messages = [...this.#chat.messages, message];
  }

  /** The person decided, on whichever page. */
  decide({ toolCallId, messageId, approved, reason }: DataParts['decided']): void {
    this.#replace(messageId, (message) => {
      const fold = new MessageFold(structuredClone(message));
      fold.decide(toolCallId, approved, reason);
      return fold.message;
    });
  }

  /** Whether the message of this id is shown. */
  has(messageId: string): boolean {
    return this.#chat.messages.some(({ id }) => id === messageId);
  }

  /** Everything from that message on was taken back. */
  rewind({ messageId }: DataParts['rewind']): void {
    const index = this.#chat.messages.findIndex(({ id }) => id === messageId);
    if (index !== -1) this.#chat.messages = this.#chat.messages.slice(0, index);
  }

  /** Shows the newest page of the conversation, with the text that was shown of answers that were cut off. */
  reset(messages: readonly Message[], older?: string): void {
    const shown = this.#chat.messages;
    this.load(messages, older ?? null);
    this.#chat.messages = withShownText(this.#chat.messages, shown);
  }

  /** Shows the newest page of the conversation. Older messages that are shown stay before it. */
  load(messages: readonly Message[], older: string | null): void {
    const shown = this.#chat.messages;
    const place = shown.findIndex(({ id }) => id === older);
    const kept = shown
      .slice(0, Math.max(place, 0))
      .filter(({ id }) => !messages.some((one) => one.id === id));
    if (kept.length === 0) this.older = older;
    this.#chat.messages = [...kept, ...messages];
  }

  /** Shows the page before the first message that is shown. A message with an open approval request may be shown already. */
  addOlder(messages: readonly Message[], older: string | null): void {
    const shown = this.#chat.messages;
    const page = messages.map((message) => shown.find(({ id }) => id === message.id) ?? message);
    this.older = older;
    this.#chat.messages = [...page, ...shown.filter((message) => !page.includes(message))];
  }

  #replace(messageId: string, change: (message: Message) => Message): void {
    const { messages } = this.#chat;
    const index = messages.findIndex(({ id }) => id === messageId);
    const message = messages[index];
    if (message) this.#chat.messages = messages.with(index, change(message));
  }
}
