import { BlockDecoder, type Chunk, Grammar } from '../../../src/protocol/index.ts';
import type { Duologue } from '../../../src/server/index.ts';
import type { Journal } from './journal.ts';

/** One request to `/stream` and its response, read as it comes. */
export class Post {
  readonly name: string;
  /** The protocol violations in the response. */
  readonly wrong: string[] = [];
  readonly chunks: Chunk[] = [];
  /** Whether the response is complete or the request was rejected. */
  isOver = false;
  /** The error code of a rejected request. */
  refusal: string | null = null;
  private readonly journal: Journal;
  private readonly grammar = new Grammar('sse');
  private isDead = false;
  private dones = 0;

  constructor(name: string, journal: Journal) {
    this.name = name;
    this.journal = journal;
  }

  /** Posts, and reads in the background. */
  begin(duologue: Duologue, body: object): void {
    const request = new Request('http://localhost/stream', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    this.read(duologue.fetch(request)).catch((error: unknown) => this.wrong.push(`${this.name}: ${error}`));
  }

  /** The process has ended: nothing more is read. */
  die(): void {
    this.isDead = true;
    this.isOver = true;
  }

  private async read(answer: Promise<Response>): Promise<void> {
    const response = await answer;
    if (this.isDead) return;
    if (response.status !== 200 || !response.body) {
      const { error } = (await response.json()) as { error: { code: string } };
      this.refusal = error.code;
      this.journal.add({ kind: 'refused', by: this.name, code: error.code });
      this.isOver = true;
      return;
    }
    const decoder = new BlockDecoder();
    const text = new TextDecoder();
    for await (const bytes of response.body) {
      if (this.isDead) return;
      for (const block of decoder.push(text.decode(bytes as Uint8Array, { stream: true }))) this.hear(block);
    }
    if (this.isDead) return;
    this.isOver = true;
    if (this.dones !== 1) this.wrong.push(`${this.name}: [C5] ${this.dones} [DONE] in a response`);
    for (const words of this.grammar.end()) this.wrong.push(`${this.name}: [C6] ${words}`);
  }

  private hear({ id, data }: { id?: string | undefined; data: string }): void {
    if (data === '[DONE]') {
      this.dones++;
      this.journal.add({ kind: 'done', by: this.name, wire: 'post' });
      return;
    }
    const chunk = JSON.parse(data) as Chunk;
    this.chunks.push(chunk);
    this.journal.add({ kind: 'chunk', by: this.name, wire: 'post', id, chunk });
    for (const words of this.grammar.push(chunk)) {
      // Calls of earlier responses may continue in this one.
      if (!words.includes('was never announced')) this.wrong.push(`${this.name}: [C9] ${words}`);
    }
  }
}
