import type { Readable } from 'node:stream';
import { ProtocolError } from '../../protocol/index.ts';
import type { HeldBytes } from '../access/limits.ts';
import type { Clock } from '../clock.ts';
import { LARGE_JSON, type LargeJson } from '../large-json.ts';

/** Where a request of a Node server has its body as it arrives; null when it is to be read from the request itself. */
export const ARRIVING = Symbol('duologue.arriving');

export interface Arriving {
  readonly [ARRIVING]: Readable | null;
}

/** What a body is read with. */
export interface BodyLimits {
  maxBytes: number;
  /** How long it may take to arrive. */
  arrivalMs: number;
  /** Its bytes count as they come; whoever opened the account empties it. */
  held: HeldBytes;
  clock: Clock;
  large: LargeJson;
}

/** Reads a JSON body within limits. */
export async function readJson(request: Request, limits: BodyLimits): Promise<Record<string, unknown>> {
  const type = request.headers.get('content-type') ?? '';
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(type)) {
    throw new ProtocolError('unsupported_media', 'Send the body as application/json.');
  }
  const bytes = await readBytes(request, limits);
  let value: unknown;
  try {
    value =
      bytes.byteLength > LARGE_JSON
        ? await limits.large.parse(bytes)
        : JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    throw new ProtocolError('bad_json', 'The body is not valid JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ProtocolError('bad_request', 'The body must be a JSON object.');
  }
  return value as Record<string, unknown>;
}

async function readBytes(request: Request, limits: BodyLimits): Promise<Buffer> {
  const { maxBytes, arrivalMs, held, clock } = limits;
  const tooLarge = () =>
    new ProtocolError('too_large', `The body is larger than ${Math.floor(maxBytes / 1024 / 1024)} MB.`);
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge();
  const pieces: Uint8Array[] = [];
  let size = 0;
  const add = (piece: Uint8Array): void => {
    size += piece.byteLength;
    if (size > maxBytes) throw tooLarge();
    held.add(piece.byteLength);
    pieces.push(piece);
  };
  const arriving = (request as Partial<Arriving>)[ARRIVING];
  const reading = arriving ? readArriving(arriving, add) : readWeb(request, add);
  let isLate = false;
  const cancel = clock.after(arrivalMs, () => {
    isLate = true;
    reading.stop();
  });
  try {
    await reading.done;
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    if (!isLate) throw new ProtocolError('bad_request', 'The body did not arrive whole.');
  } finally {
    cancel();
  }
  if (isLate) throw new ProtocolError('idle', 'The body took too long to arrive.');
  return Buffer.concat(pieces, size);
}

/** A body that is being read, piece by piece. It is done when it was read or stopped; it fails when it did not arrive whole, or a piece was refused. */
interface Reading {
  done: Promise<void>;
  stop(): void;
}

function readWeb({ body }: Request, add: (piece: Uint8Array) => void): Reading {
  const reader = body?.getReader();
  const read = async () => {
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) add(next.value);
  };
  return { done: read(), stop: () => void reader?.cancel().catch(() => undefined) };
}

function readArriving(source: Readable, add: (piece: Uint8Array) => void): Reading {
  let stop = (): void => undefined;
  const done = new Promise<void>((resolve, reject) => {
    const leave = () => {
      source.off('data', take).off('end', ended).off('close', broken).pause();
    };
    const take = (piece: Uint8Array) => {
      try {
        add(piece);
      } catch (error) {
        leave();
        reject(error);
      }
    };
    const ended = () => {
      leave();
      resolve();
    };
    const broken = () => {
      leave();
      reject(new Error('The connection was closed.'));
    };
    // Someone else read it, or the client is gone.
    if (source.readableEnded) return ended();
    if (source.destroyed) return broken();
    // Whoever had it before may have paused it.
    source.on('data', take).on('end', ended).on('close', broken).resume();
    stop = ended;
  });
  return { done, stop: () => stop() };
}
