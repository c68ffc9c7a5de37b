import type { ListedSession, SessionSummary } from '../store.ts';
import { HeldCalls } from './held-calls.ts';
import { HeldMessages } from './held-messages.ts';
import { HeldRequests } from './held-requests.ts';

/** One session and all that belongs to it alone. */
export class HeldSession {
  readonly id: string;
  readonly createdAt: number;
  fence = 0;
  title: string | null = null;
  updatedAt: number;
  /** JSON, as the events are. */
  state: string;
  readonly events = new Map<string, string>();
  readonly messages = new HeldMessages();
  readonly calls = new HeldCalls();
  readonly requests = new HeldRequests();
  readonly files = new Map<string, { mediaType: string; bytes: Uint8Array }>();

  constructor(id: string, state: string, createdAt: number) {
    this.id = id;
    this.state = state;
    this.createdAt = createdAt;
    this.updatedAt = createdAt;
  }

  summary(): SessionSummary {
    const { id, title, createdAt, updatedAt } = this;
    return { id, title, createdAt, updatedAt };
  }

  /** Whether it has a title or a message. */
  get isSaid(): boolean {
    return this.title !== null || this.messages.size > 0;
  }

  /** Bytes of events, messages and files. */
  get bytes(): number {
    let bytes = this.messages.bytes;
    for (const text of this.events.values()) bytes += Buffer.byteLength(text);
    for (const file of this.files.values()) bytes += file.bytes.byteLength;
    return bytes;
  }

  listed(now: number): ListedSession {
    const isWaiting = this.calls
      .all()
      .some(({ status, expiresAt }) => status === 'requested' && (expiresAt === null || expiresAt > now));
    const metadata = this.messages.last()?.metadata;
    const hasFailed = metadata?.failed === true || metadata?.cutOff === true;
    return { ...this.summary(), isWaiting, hasFailed };
  }
}
