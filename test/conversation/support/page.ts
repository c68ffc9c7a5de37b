import {
  BlockDecoder,
  type Chunk,
  Grammar,
  type Message,
  type SessionInfo,
  SUBPROTOCOL,
} from '../../../src/protocol/index.ts';
import type { Duologue } from '../../../src/server/index.ts';
import type { Journal } from './journal.ts';
import { MessageView } from './message-view.ts';

/** How a page connects: without a chunk id, after its last chunk, or with a chunk id that the server does not know. */
export type Coming = 'anew' | 'back' | 'lost';

type Connection = ReturnType<Awaited<ReturnType<Duologue['sockets']['admit']>>['accept']>;

/** A chunk id that no server has sent: the server replies with a reset (R5). */
const FOREIGN_ID = 'nowhere-1';

/**
 * A page in a browser, as far as the protocol goes: it connects, folds the received chunks into messages and remembers its last chunk
 * id. It stays the same page when it reconnects.
 */
export class Page {
  readonly name: string;
  /** The protocol violations in the received chunks. */
  readonly wrong: string[] = [];
  /** The messages as it shows them. */
  readonly view = new MessageView();
  lastId: string | undefined;
  isOpen = false;
  private readonly journal: Journal;
  private grammar = new Grammar('bidi');
  private connection: Connection | null = null;
  private ends = { finished: 0, done: 0 };
  private isJustBack = false;
  /** The calls it received, in a chunk or in a reset. */
  private readonly known = new Set<string>();
  /** Requests without a reply yet, by request id, and the replies to the others (B25). */
  readonly unanswered = new Map<string, object>();
  readonly accepted = new Map<string, string | undefined>();
  readonly refused = new Set<string>();
  /** How often it has connected. */
  connections = 0;
  /** Approval requests outside of a step, as posts have them. */
  readonly bare: string[] = [];

  constructor(name: string, journal: Journal) {
    this.name = name;
    this.journal = journal;
  }

  /** Opens a socket, in memory. */
  async connect(duologue: Duologue, session: string, coming: Coming): Promise<void> {
    const last = coming === 'back' ? this.lastId : coming === 'lost' ? FOREIGN_ID : undefined;
    const query = `?session=${session}${last === undefined ? '' : `&last=${last}`}`;
    const admission = await duologue.sockets.admit(new Request(`http://localhost/live${query}`));
    const decoder = new BlockDecoder();
    this.connections += 1;
    this.isOpen = true;
    if (last === undefined) this.view.isWhole = false;
    let isMine = true;
    this.cut = () => {
      isMine = false;
      this.isOpen = false;
    };
    this.leave = () => {
      if (!isMine) return;
      this.cut();
      this.connection?.closed();
    };
    this.connection = admission.accept({
      protocol: SUBPROTOCOL,
      bufferedAmount: 0,
      send: (data) => {
        if (!isMine || typeof data !== 'string') return;
        for (const block of decoder.push(data)) this.hear(block);
      },
      ping: () => this.connection?.pong(),
      pong: () => undefined,
      close: (code) => {
        if (!isMine) return;
        this.cut();
        this.journal.add({ kind: 'closed', by: this.name, code });
      },
    });
  }

  /** The server process has ended, and does not notice the close. */
  cut: () => void = () => undefined;

  /** The socket breaks. */
  leave: () => void = () => undefined;

  send(type: string, data: object = {}): void {
    this.connection?.receive(Buffer.from(JSON.stringify({ type, version: '1.0', data })), false);
  }

  /** Sends a message; one with a request id is sent again until the server replies. */
  say(message: object, requestId?: string): void {
    const data = { messages: [message], ...(requestId === undefined ? {} : { requestId }) };
    if (requestId !== undefined) this.unanswered.set(requestId, data);
    this.send('message', data);
  }

  /** The violations that remain if the stream ends here. */
  end(): string[] {
    const { unfinished } = this.view;
    return [...this.grammar.end(), ...unfinished.map((id) => `message ${id} has no finish`)].map(
      (words) => `${this.name}: ${words}`,
    );
  }

  private hear({ id, data }: { id?: string | undefined; data: string }): void {
    if (data === '[DONE]') {
      this.journal.add({ kind: 'done', by: this.name, wire: 'socket' });
      // `[DONE]` has no id: a page that reconnects right after a `finish` may receive it twice.
      if (this.ends.done === this.ends.finished && this.isJustBack) return;
      if (++this.ends.done !== this.ends.finished) this.complain('[C5] [DONE] without a finish before it');
      return;
    }
    const chunk = JSON.parse(data) as Chunk;
    this.journal.add({ kind: 'chunk', by: this.name, wire: 'socket', id, chunk });
    if (chunk.type === 'data-session') return this.greeted(id, chunk.data);
    if (chunk.type === 'data-accepted') this.wasAccepted(chunk.data);
    if (chunk.type === 'data-error' && chunk.data.requestId !== undefined)
      this.wasRefused(chunk.data.requestId);
    if (chunk.type === 'data-reset') return this.reset(chunk.data.messages);
    if (id) this.place(id);
    if (id) this.isJustBack = false;
    this.read(chunk);
    this.view.push(chunk);
  }

  /** Continues or restarts after a reconnect; a new grammar checks replayed chunks. */
  private greeted(id: string | undefined, { resumed, received }: SessionInfo): void {
    this.lastId = id;
    this.isJustBack = true;
    for (const one of received) if (this.unanswered.has(one.requestId)) this.wasAccepted(one);
    // Sends requests without a reply again, in order.
    const again = [...this.unanswered.values()];
    queueMicrotask(() => {
      for (const data of again) this.send('message', data);
    });
    if (resumed) return;
    this.grammar = new Grammar('bidi');
    this.ends = { finished: 0, done: 0 };
    this.view.replay();
  }

  private wasAccepted({ requestId, messageId }: { requestId: string; messageId?: string }): void {
    this.unanswered.delete(requestId);
    if (this.refused.has(requestId)) this.complain(`[B25] ${requestId} is accepted after it was refused`);
    const before = this.accepted.get(requestId) ?? messageId;
    if (before !== messageId)
      this.complain(`[B25] ${requestId} is answered by ${messageId} instead of ${before}`);
    this.accepted.set(requestId, messageId);
  }

  private wasRefused(requestId: string): void {
    this.unanswered.delete(requestId);
    if (this.accepted.has(requestId)) this.complain(`[B25] ${requestId} is refused after it was accepted`);
    this.refused.add(requestId);
  }

  private reset(messages: Message[]): void {
    this.view.reset(messages);
    for (const { parts } of messages)
      for (const part of parts) if ('toolCallId' in part) this.known.add(part.toolCallId);
  }

  private place(id: string): void {
    const [epoch, seq] = placeOf(id);
    const [before, last] = placeOf(this.lastId ?? '');
    if (epoch === before && seq <= last) this.complain(`[R2] ${id} comes after ${this.lastId}`);
    this.lastId = id;
  }

  private read(chunk: Chunk): void {
    if (chunk.type === 'finish' && ++this.ends.finished !== this.ends.done + 1) {
      this.complain('[C6] a second finish without [DONE] between');
    }
    if (chunk.type === 'tool-input-start') this.known.add(chunk.toolCallId);
    for (const words of this.grammar.push(chunk)) {
      // A page that connected later knows earlier calls from its loaded messages.
      if (words.includes('was never announced') && this.isKnown(chunk)) continue;
      // A replay leaves out decided approval requests, but keeps the input that is repeated after the decision (T19).
      if (words.includes('is input-available') && isRepeatable(chunk)) continue;
      if (words.includes('is outside a step') && 'toolCallId' in chunk) this.bare.push(chunk.toolCallId);
      else this.complain(`[C9] ${words}`);
    }
  }

  private isKnown(chunk: Chunk): boolean {
    return 'toolCallId' in chunk && (this.known.has(chunk.toolCallId) || !this.view.isWhole);
  }

  private complain(words: string): void {
    this.wrong.push(`${this.name}: ${words}`);
  }
}

function isRepeatable(chunk: Chunk): boolean {
  return (
    chunk.type === 'tool-input-available' &&
    chunk.toolMetadata?.runsOn === 'client' &&
    chunk.toolMetadata.asks === true
  );
}

/** The two halves of a chunk id. */
export function placeOf(id: string): [epoch: string, seq: number] {
  const dash = id.lastIndexOf('-');
  return [id.slice(0, dash), Number(id.slice(dash + 1))];
}
