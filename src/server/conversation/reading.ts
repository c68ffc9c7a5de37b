import type { Engine } from '../engine.ts';
import type { ShownLog } from '../log/log.ts';
import type { Output } from '../output/output.ts';
import type { Feed, MessagePage, Reader, Response } from '../registry/session.ts';
import type { PageRequest, SessionKey } from '../store/store.ts';
import { decidedCards } from './beginning.ts';

/** What reading a conversation needs from around it. */
export interface ReadingContext {
  key: SessionKey;
  engine: Engine;
  output: Output;
  /** Whether the agent is at work. */
  isRunning: () => boolean;
  /** The message that is being written or that waits for an answer. */
  current: () => string | null;
}

/** What is said, as it is said. */
class OutputFeed implements Feed {
  readonly log: ShownLog;
  private readonly output: Output;
  private readonly isRunning: () => boolean;

  constructor({ output, isRunning }: ReadingContext) {
    this.log = output.shown;
    this.output = output;
    this.isRunning = isRunning;
  }

  get isAtRest(): boolean {
    return !this.isRunning() && this.log.last === this.output.log.last;
  }

  onRest(callback: () => void): () => void {
    return this.output.onRest(callback);
  }

  attach(reader: Reader): () => void {
    return this.output.readers.attach(reader);
  }

  readerMoved(): void {
    this.output.readers.moved();
  }
}

/** What can be read of a conversation: what is said as it is said, the rest of a response, stored messages. */
export class Reading {
  readonly feed: Feed;
  private readonly context: ReadingContext;

  constructor(context: ReadingContext) {
    this.context = context;
    this.feed = new OutputFeed(context);
  }

  /** The rest of the response in progress, behind the last chunk that the client has; null when there is none. */
  resume(last: string | null): Response | null {
    const { feed } = this;
    const { output, isRunning, current: currentOf } = this.context;
    const { log } = output;
    const current = isRunning() ? currentOf() : null;
    const place = last === null ? null : log.placeOf(last);
    if (place !== null) {
      // What runs ends at the next end; what is over, at the last there is.
      if (current !== null) return { feed, from: place, endsAfter: log.last, endsAtRest: true };
      const isLast = place === log.last || (place === log.last - 1 && log.at(log.last)?.chunk === null);
      // An earlier owner may have left a turn that waits: what is read of it ends where it rests.
      const endsAtRest = log.at(log.last)?.chunk !== null;
      return isLast ? null : { feed, from: place, endsAfter: log.last - 1, endsAtRest };
    }
    return current === null ? null : this.inProgress(current);
  }

  /** All of the response of a message, if it is being written and its beginning is still there. */
  responseIn(messageId: string): Response | null {
    const { isRunning, current } = this.context;
    return isRunning() && messageId === current() ? this.inProgress(messageId) : null;
  }

  private inProgress(messageId: string): Response | null {
    const { feed } = this;
    const { output } = this.context;
    const start = output.startOf(messageId);
    if (start === null) return null;
    const omitted = decidedCards(output, messageId);
    return { feed, from: start - 1, endsAfter: output.log.last, omitted, endsAtRest: true };
  }

  async page(request: PageRequest): Promise<MessagePage | null> {
    const { key, engine, output, isRunning } = this.context;
    const page = await engine.store.loadPage(key, request);
    if (!page) return null;
    const older = page.hasOlder ? (page.messages[0]?.id ?? null) : null;
    return { messages: output.withoutDrafts(page.messages), older, isRunning: isRunning() };
  }
}
