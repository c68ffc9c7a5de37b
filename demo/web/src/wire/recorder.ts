import type { WireEvent } from './wire-event.ts';

/** The largest number of events and characters to keep. Older events are discarded. */
const MAX_EVENTS = 20_000;
const MAX_CHARACTERS = 16_000_000;

/** An event without its time, which the recorder adds. */
export type WireFact = WireEvent extends infer E ? (E extends WireEvent ? Omit<E, 'at'> : never) : never;

/** Records the wire events of a conversation up to a limit, for the inspector. */
export class WireRecorder {
  private readonly now: () => number;
  private readonly watchers = new Set<() => void>();
  private kept: WireEvent[] = [];
  private characters = 0;
  private channels = 0;
  private removed = 0;
  private isTelling = false;

  constructor(now: () => number = () => performance.timeOrigin + performance.now()) {
    this.now = now;
  }

  /** The events that are kept, oldest first. */
  get events(): readonly WireEvent[] {
    return this.kept;
  }

  /** The number of discarded events before the first recorded one. */
  get dropped(): number {
    return this.removed;
  }

  /** A number for a request or a socket. */
  newChannel(): number {
    return ++this.channels;
  }

  record(fact: WireFact): void {
    const event = { ...fact, at: this.now() } as WireEvent;
    this.kept.push(event);
    this.characters += sizeOf(event);
    if (this.kept.length > MAX_EVENTS || this.characters > MAX_CHARACTERS) this.shorten();
    if (this.watchers.size > 0) this.tellSoon();
  }

  /** Calls the listener after events were recorded, at most every 50 ms. The returned function unsubscribes. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.watchers.add(listener);
    return () => this.watchers.delete(listener);
  };

  /** Discards a quarter at once, so that a full recorder does not copy its list for every event. */
  private shorten(): void {
    let count = this.kept.length > MAX_EVENTS ? MAX_EVENTS / 4 : 0;
    let rest = this.characters;
    for (const [index, event] of this.kept.entries()) {
      if (index >= count && rest <= MAX_CHARACTERS * 0.75) break;
      rest -= sizeOf(event);
      count = Math.max(count, index + 1);
    }
    this.kept = this.kept.slice(count);
    this.characters = rest;
    this.removed += count;
  }

  private tellSoon(): void {
    if (this.isTelling) return;
    this.isTelling = true;
    setTimeout(() => {
      this.isTelling = false;
      for (const watcher of [...this.watchers]) watcher();
    }, 50);
  }
}

function sizeOf(event: WireEvent): number {
  if (event.type === 'text') return event.text.length;
  return event.type === 'request' ? (event.body?.length ?? 0) : 0;
}
