import { type AcceptedRequest, MAX_REQUESTS } from '../store/store.ts';
import type { Post } from './post.ts';

/** The requests of a session that have names: those that are being taken, and the last that were. */
export class Requests {
  private readonly pending = new Map<string, Post>();
  /** In the order in which they were accepted; those of an earlier process have no post. */
  private readonly accepted = new Map<string, { accepted: AcceptedRequest; post: Post | null }>();

  constructor(accepted: readonly AcceptedRequest[]) {
    for (const one of accepted) this.accepted.set(one.requestId, { accepted: one, post: null });
  }

  /** The requests that were accepted last, oldest first. */
  get list(): AcceptedRequest[] {
    return [...this.accepted.values()].map(({ accepted }) => accepted);
  }

  /** A request that was made before, in this process. */
  made(name: string | undefined): Post | null {
    if (name === undefined) return null;
    return this.pending.get(name) ?? this.accepted.get(name)?.post ?? null;
  }

  /** A request that was accepted before. */
  find(name: string | undefined): AcceptedRequest | null {
    return (name !== undefined && this.accepted.get(name)?.accepted) || null;
  }

  /** A request is made. */
  add(post: Post): void {
    const { name } = post;
    if (name === undefined) return;
    this.pending.set(name, post);
    // One that is refused may be made again.
    post.begun.catch(() => this.pending.delete(name));
    post.join({ accepted: (accepted) => this.accept(post, accepted), told: () => undefined });
  }

  /** One that was accepted is to be made again: nothing came of it. */
  forget(name: string): void {
    this.accepted.delete(name);
  }

  private accept(post: Post, accepted: AcceptedRequest): void {
    const { requestId } = accepted;
    this.pending.delete(requestId);
    this.accepted.delete(requestId);
    this.accepted.set(requestId, { accepted, post });
    const [oldest] = this.accepted.keys();
    if (this.accepted.size > MAX_REQUESTS && oldest !== undefined) this.accepted.delete(oldest);
  }
}
