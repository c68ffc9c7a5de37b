import { BlockDecoder, type Chunk } from '../../../src/protocol/index.ts';
import { turns } from './turns.ts';

/** A response that is read while it comes. */
export interface Listening {
  chunks: Chunk[];
  ids: (string | undefined)[];
  /** Everything that came, as text. */
  raw(): string;
  isDone(): boolean;
  until(seen: (chunks: readonly Chunk[]) => boolean): Promise<void>;
  /** Resolves when the response has ended. */
  end(): Promise<void>;
  /** Aborts the request, as a closed browser does. */
  leave(): Promise<void>;
}

/** Reads a response in the background. */
export function listen(response: Response): Listening {
  const chunks: Chunk[] = [];
  const ids: (string | undefined)[] = [];
  let raw = '';
  let done = false;
  const decoder = new BlockDecoder();
  const text = new TextDecoder();
  const reader = response.body?.getReader();
  if (!reader) throw new Error('The response has no body.');
  const reading = (async () => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const piece = text.decode(next.value, { stream: true });
      raw += piece;
      for (const { id, data } of decoder.push(piece)) {
        if (data === '[DONE]') done = true;
        else {
          chunks.push(JSON.parse(data) as Chunk);
          ids.push(id);
        }
      }
    }
  })();
  reading.catch(() => undefined);
  return {
    chunks,
    ids,
    raw: () => raw,
    isDone: () => done,
    until: (seen) => turns(() => seen(chunks)),
    end: () => reading,
    leave: () => reader.cancel(),
  };
}

/** A promise that another part of the test resolves. */
export interface Latch {
  opened: Promise<void>;
  open(): void;
}

/** Creates an unresolved latch. */
export function latch(): Latch {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
