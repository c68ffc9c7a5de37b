import type { Chunk } from '../../../src/protocol/index.ts';

/** An event that is observable from outside the server. */
export type Entry =
  | { kind: 'command'; text: string }
  | { kind: 'chunk'; by: string; wire: Wire; id: string | undefined; chunk: Chunk }
  | { kind: 'done'; by: string; wire: Wire }
  | { kind: 'closed'; by: string; code: number }
  | { kind: 'refused'; by: string; code: string }
  | { kind: 'write'; method: string; calls: string[]; outcome: 'stored' | 'failed' }
  | { kind: 'tool'; event: 'starts' | 'returns' | 'throws'; name: string; callId: string }
  | { kind: 'model'; text: string }
  | { kind: 'server'; text: string };

export type Wire = 'socket' | 'post';

/** All events of one run, in order. Rules are checked on it, and a failure prints it. */
export class Journal {
  readonly entries: Entry[] = [];

  add(entry: Entry): void {
    // A copy, because the caller may change the object later.
    this.entries.push(structuredClone(entry));
  }

  /** The chunks so far, with their receivers. */
  get chunks(): Extract<Entry, { kind: 'chunk' }>[] {
    return this.entries.filter((entry) => entry.kind === 'chunk');
  }

  toString(): string {
    return this.entries.map(lineOf).join('\n');
  }
}

function lineOf(entry: Entry): string {
  switch (entry.kind) {
    case 'command':
      return `> ${entry.text}`;
    case 'chunk':
      return `    ${entry.by} < ${entry.id ?? '-'} ${describe(entry.chunk)}`;
    case 'done':
      return `    ${entry.by} < [DONE]`;
    case 'closed':
      return `    ${entry.by} closed with ${entry.code}`;
    case 'refused':
      return `    ${entry.by} refused: ${entry.code}`;
    case 'write':
      return `    store: ${entry.method} ${entry.calls.join(' ')} ${entry.outcome}`;
    case 'tool':
      return `    tool: ${entry.name} ${entry.callId} ${entry.event}`;
    case 'model':
      return `    model: ${entry.text}`;
    case 'server':
      return `    server ${entry.text}`;
  }
}

/** A chunk on one line: its type, then the fields that distinguish it from others of that type. */
function describe({ type, ...rest }: Chunk): string {
  return `${type} ${JSON.stringify(rest, (name, value: unknown) => (name === 'usage' ? undefined : value))}`;
}
