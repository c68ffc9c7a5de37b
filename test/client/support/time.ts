import type { Timers } from '../../../src/client/platform.ts';

/** Fake time that advances only when a test says so. */
export class FakeTimers implements Timers {
  chance = 1;
  private at = 1_000_000;
  private readonly due: { at: number; work: () => void }[] = [];

  now(): number {
    return this.at;
  }

  random(): number {
    return this.chance;
  }

  after(ms: number, work: () => void): () => void {
    const entry = { at: this.at + ms, work };
    this.due.push(entry);
    return () => {
      const index = this.due.indexOf(entry);
      if (index !== -1) this.due.splice(index, 1);
    };
  }

  /** Advances the time; due timers run in their order. */
  advance(ms: number): void {
    const until = this.at + ms;
    for (;;) {
      const next = this.due.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.due.splice(this.due.indexOf(next), 1);
      this.at = Math.max(this.at, next.at);
      next.work();
    }
    this.at = until;
  }

  get pending(): number {
    return this.due.length;
  }

  /** Lets all pending work finish, and advances the time a little. */
  async settle(ms = 20): Promise<void> {
    for (let turn = 0; turn < 6; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      this.advance(turn === 0 ? ms : 0);
    }
  }
}

/** A network that a test switches online and offline. */
export class FakeNetwork {
  online = true;
  hidden = false;
  private readonly listeners = new Set<() => void>();

  isOnline(): boolean {
    return this.online;
  }

  isHidden(): boolean {
    return this.hidden;
  }

  onReturn(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  comeBack(): void {
    this.online = true;
    for (const listener of [...this.listeners]) listener();
  }

  get listening(): number {
    return this.listeners.size;
  }
}
