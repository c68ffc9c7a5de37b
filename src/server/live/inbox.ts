import { type Input, ProtocolError } from '../../protocol/index.ts';

/** Something that a person typed. */
export type TypedMessage = Extract<Input, { kind: 'message' }>;

/** Typed messages that may wait for the agent to finish. */
const MAX_WAITING = 16;
/** Requests that are remembered, in case they are sent again. */
const MAX_REQUESTS = 256;
/** Inputs that may wait for the one before them to be taken. */
const MAX_PENDING = 64;

/** What comes into a live session: taken one after the other, in the order it came, and only so much of it. */
export class Inbox {
  private readonly waiting: { message: TypedMessage; onTaken: () => void }[] = [];
  private readonly requests = new Set<string>();
  private tail: Promise<unknown> = Promise.resolve();
  private pending = 0;
  private readonly onTaken: () => void;

  /** `onTaken` is called whenever something was taken. */
  constructor(onTaken: () => void) {
    this.onTaken = onTaken;
  }

  /** Takes something when everything before it is taken. */
  inOrder<T>(work: () => Promise<T>): Promise<T> {
    this.pending++;
    const taken = this.tail.then(work).finally(() => {
      this.pending--;
      this.onTaken();
    });
    this.tail = taken.catch(() => undefined);
    return taken;
  }

  /** Throws when too much waits already. */
  checkRoom(): void {
    if (this.waiting.length < MAX_WAITING && this.pending < MAX_PENDING) return;
    throw new ProtocolError('busy', 'Too many messages are waiting. Try again in a moment.', {
      retryAfterMs: 2000,
    });
  }

  /**
   * Lets a message wait until the agent is free; the request that brought it is known from now on. Resolves when it waits no
   * more.
   */
  put(message: TypedMessage, requestId: string | undefined): Promise<void> {
    const taken = new Promise<void>((resolve) => {
      this.waiting.push({ message, onTaken: resolve });
    });
    if (requestId === undefined) return taken;
    this.requests.add(requestId);
    const [oldest] = this.requests;
    if (this.requests.size > MAX_REQUESTS && oldest !== undefined) this.requests.delete(oldest);
    return taken;
  }

  /** Takes a message back, as if it had never come. */
  takeBack(message: TypedMessage, requestId: string | undefined): void {
    const index = this.waiting.findIndex((entry) => entry.message === message);
    if (index !== -1) for (const { onTaken } of this.waiting.splice(index, 1)) onTaken();
    if (requestId !== undefined) this.requests.delete(requestId);
  }

  /** The message that waits longest, which then waits no more. */
  next(): TypedMessage | undefined {
    const entry = this.waiting.shift();
    entry?.onTaken();
    return entry?.message;
  }

  /** Whether a message with that id waits. */
  has(messageId: string): boolean {
    return this.waiting.some(({ message }) => message.id === messageId);
  }

  /** Whether a request was heard before. */
  hasHeard(requestId: string | undefined): boolean {
    return requestId !== undefined && this.requests.has(requestId);
  }

  clear(): void {
    for (const { onTaken } of this.waiting.splice(0)) onTaken();
  }
}
