import { marked, type Token } from 'marked';

/** The blocks of a text that grows: those before the last stay as they are, only the tail is read again. */
export class GrowingBlocks {
  private source = '';
  private settled: Token[] = [];
  private settledLength = 0;

  /** The blocks of the text. A text that does not continue the one before begins anew. */
  push(text: string): Token[] {
    // Compared as a whole: `startsWith` goes letter by letter, which a long answer feels.
    if (text.slice(0, this.source.length) !== this.source) {
      this.settled = [];
      this.settledLength = 0;
    }
    this.source = text;
    const tail = marked.lexer(text.slice(this.settledLength));
    // The last block may still change, and a list or table only ends where another block begins.
    const last = tail.findLastIndex((token) => token.type !== 'space');
    for (const token of tail.slice(0, Math.max(0, last))) {
      this.settled.push(token);
      this.settledLength += token.raw.length;
    }
    return [...this.settled, ...tail.slice(Math.max(0, last))];
  }
}
