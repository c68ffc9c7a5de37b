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

  listed(now: number): ListedSession {
    const isWaiting = this.calls
      .all()
      .some(({ status, expiresAt }) => status === 'requested' && (expiresAt === null || expiresAt > now));
    const metadata = this.messages.last()?.metadata;
    const hasFailed = metadata?.failed === true || metadata?.cutOff === true;
    return { ...this.summary(), isWaiting, hasFailed };
  }
}
