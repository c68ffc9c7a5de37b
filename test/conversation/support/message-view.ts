import { type Chunk, isSettled, type Message, MessageFold } from '../../../src/protocol/index.ts';

/** The agent's messages as a client builds them from chunks (C11). */
export class MessageView {
  /** Whether it has everything: a page that came without its last chunk and loaded nothing has not. */
  isWhole = true;
  private readonly folds = new Map<string, MessageFold>();
  private readonly open = new Set<string>();
  /** Messages that are replayed from their first chunk on, until that chunk comes. */
  private isReplaying = false;
  private readonly replayed = new Set<string>();
  private current: MessageFold | null = null;

  /** The messages by id, without what the wire does not carry. */
  get messages(): Map<string, string> {
    return new Map([...this.folds].map(([id, { message }]) => [id, brief(message)]));
  }

  /** The last of them. */
  get last(): string | undefined {
    return [...this.folds.keys()].at(-1);
  }

  /** Messages that were begun, or gone on with, and did not end. */
  get unfinished(): string[] {
    return [...this.open];
  }

  /** The whole conversation, as the server has it. */
  reset(messages: Message[]): void {
    this.isWhole = true;
    this.folds.clear();
    this.open.clear();
    this.current = null;
    for (const message of structuredClone(messages)) {
      if (message.role === 'assistant') this.folds.set(message.id, new MessageFold(message));
    }
  }

  /** What comes now may have come before. */
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

/** A message without decisions, which the wire does not carry back; the same message always gives the same text. */
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
