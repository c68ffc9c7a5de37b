import { fetchPart, hasPart } from './fetch-part.ts';
import type { VoicePart } from './parts.ts';

/** Whether the files of voice are there, or how far their download is. */
export type FetchState =
  | { status: 'absent'; total: number }
  | { status: 'fetching'; bytes: number; total: number }
  | { status: 'ready' }
  | { status: 'failed'; message: string; total: number };

/** The files of voice, which are downloaded on first use and kept in the data folder. */
export class FetchedParts {
  readonly parts: readonly VoicePart[];
  private readonly folder: string;
  private readonly registry: string;
  private readonly controller = new AbortController();
  private state: FetchState;

  constructor(parts: readonly VoicePart[], options: { folder: string; registry: string }) {
    this.parts = parts;
    this.folder = options.folder;
    this.registry = options.registry;
    const missing = this.missing();
    this.state = missing.length === 0 ? { status: 'ready' } : { status: 'absent', total: bytesOf(missing) };
  }

  get now(): FetchState {
    return this.state;
  }

  /** Starts the download of missing files, unless it runs already. `now` reports its progress and errors. */
  prepare(): void {
    if (this.state.status === 'fetching' || this.state.status === 'ready') return;
    const missing = this.missing();
    const total = bytesOf(missing);
    this.state = { status: 'fetching', bytes: 0, total };
    this.fetch(missing, total)
      .then(() => {
        this.state = { status: 'ready' };
      })
      .catch((error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        this.state = { status: 'failed', message, total: bytesOf(this.missing()) };
      });
  }

  /** Checks whether all files still exist. If not, `now` becomes `absent`, so that they can be downloaded again. */
  look(): void {
    const missing = this.missing();
    if (missing.length > 0) this.state = { status: 'absent', total: bytesOf(missing) };
  }

  close(): void {
    this.controller.abort();
  }

  private missing(): VoicePart[] {
    return this.parts.filter((part) => !hasPart(part, this.folder));
  }

  private async fetch(missing: readonly VoicePart[], total: number): Promise<void> {
    let bytes = 0;
    for (const part of missing) {
      await fetchPart(part, {
        folder: this.folder,
        registry: this.registry,
        signal: this.controller.signal,
        onBytes: (count) => {
          bytes += count;
          this.state = { status: 'fetching', bytes, total };
        },
      });
    }
  }
}

function bytesOf(parts: readonly VoicePart[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}
