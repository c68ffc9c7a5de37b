import { type Chunk, isSettled, type Message, MessageFold } from '../../../src/protocol/index.ts';

/** The agent's messages as a client builds them from chunks (C11). */
export class MessageView {
  /** Whether the view is complete. It is not for a page that connected without its last chunk id and loaded no messages. */
  isWhole = true;
  private readonly folds = new Map<string, MessageFold>();
  private readonly open = new Set<string>();
  /** Whether the server replays messages from their first chunk on. */
  private isReplaying = false;
  private readonly replayed = new Set<string>();
  private current: MessageFold | null = null;

  /** The messages by id, without the fields that chunks do not carry. */
  get messages(): Map<string, string> {
    return new Map([...this.folds].map(([id, { message }]) => [id, brief(message)]));
  }

  /** The last of them. */
  get last(): string | undefined {
    return [...this.folds.keys()].at(-1);
  }

  /** Messages that were started or continued and have no `finish` yet. */
  get unfinished(): string[] {
    return [...this.open];
  }

  /** Replaces the view by the messages of a `data-reset`. */
  reset(messages: Message[]): void {
    this.isWhole = true;
    this.folds.clear();
    this.open.clear();
    this.current = null;
    for (const message of structuredClone(messages)) {
      if (message.role === 'assistant') this.folds.set(message.id, new MessageFold(message));
    }
  }

  /** From now on, chunks may repeat earlier ones. */
  replay(): void {
    this.isReplaying = true;
    this.replayed.clear();
    this.open.clear();
  }

  push(chunk: Chunk): void {
    if (chunk.type === 'start-step' || chunk.type === 'finish-step') return;
    if (chunk.type === 'data-settled') {
      const { toolCallId, messageId, errorText } = chunk.data;
      const owner = this.folds.get(messageId);
      if (owner?.isOpen(toolCallId)) owner.push({ type: 'tool-output-error', toolCallId, errorText });
      return;
    }
    if ('transient' in chunk && chunk.transient) return;
    if (chunk.type === 'start') this.start(chunk.messageId ?? '');
    this.current?.push(chunk);
    if (chunk.type === 'finish' && this.current) this.open.delete(this.current.message.id);
  }

  private start(id: string): void {
    const isRepeated = this.isReplaying && !this.isWhole && !this.replayed.has(id);
    const known = isRepeated ? undefined : this.folds.get(id);
    this.replayed.add(id);
    this.current = known ?? new MessageFold({ id, role: 'assistant', parts: [] });
    this.folds.set(id, this.current);
    this.open.add(id);
  }
}

/** A message without decisions, which chunks do not carry to clients; the same message always gives the same text. */
export function brief({ parts, metadata }: Message): string {
  const shown = parts.map((part) => {
    if (!('toolCallId' in part)) return part;
    const { approval: _, ...rest } = part;
    return isSettled(part.state) ? rest : { ...rest, state: 'open' };
  });
  return JSON.stringify({ parts: shown, metadata }, (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
