import type { Chunk, Message } from '../protocol/chunks.ts';
import { MessageFold } from '../protocol/fold.ts';

/** Adds chunks that nobody read to the messages they belong to. A block that comes in several pieces stays one part. */
export class LateChunks {
  readonly #lastBlocks = new Map<string, string>();

  /** The message with the chunks in it. */
  push(message: Message, chunks: readonly Chunk[]): Message {
    const copy = structuredClone(message);
    const count = copy.parts.length;
    const fold = new MessageFold(copy);
    for (const chunk of chunks) fold.push(chunk);
    const starts = chunks.filter((chunk) => chunk.type === 'text-start');
    if (chunks[0] === starts[0] && starts[0]?.id === this.#lastBlocks.get(message.id)) join(copy, count);
    const last = starts.at(-1);
    if (last) this.#lastBlocks.set(message.id, last.id);
    return copy;
  }
}

/** Makes one text of the part at the index and the one before it. */
function join({ parts }: Message, index: number): void {
  const [before, after] = [parts[index - 1], parts[index]];
  if (before?.type !== 'text' || after?.type !== 'text') return;
  before.text += after.text;
  parts.splice(index, 1);
}
