import { marked, type Token } from 'marked';

/** Parses a growing text into blocks. Finished blocks are kept, and only the rest is parsed again. */
export class GrowingBlocks {
  private source = '';
  private settled: Token[] = [];
  private settledLength = 0;

  /** Returns the blocks of the text. Starts again if the text does not continue the previous one. */
  push(text: string): Token[] {
    // Comparing whole strings is faster than `startsWith`, which matters for long texts.
    if (text.slice(0, this.source.length) !== this.source) {
      this.settled = [];
      this.settledLength = 0;
    }
    this.source = text;
    const tail = marked.lexer(text.slice(this.settledLength));
    // The last block may still change: a list or table ends only where another block begins.
    const last = tail.findLastIndex((token) => token.type !== 'space');
    for (const token of tail.slice(0, Math.max(0, last))) {
      this.settled.push(token);
      this.settledLength += token.raw.length;
    }
    return [...this.settled, ...tail.slice(Math.max(0, last))];
  }
}
