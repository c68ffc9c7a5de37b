import { createHash } from 'node:crypto';
import {
  createReadStream,
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { createGunzip } from 'node:zlib';
import { unpackTar } from 'modern-tar/fs';
import type { VoicePart } from './parts.ts';

/** Whether all files of a part exist with their expected lengths. */
export function hasPart(part: VoicePart, folder: string): boolean {
  return Object.entries(part.files).every(
    ([file, bytes]) => lengthOf(join(folder, part.name, file)) === bytes,
  );
}

/** Moves the name and password of an address into a header, so that they appear in no error text. */
function withoutPassword(address: URL): { address: URL; headers: Record<string, string> } {
  const { username, password } = address;
  address.username = '';
  address.password = '';
  if (username === '' && password === '') return { address, headers: {} };
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { address, headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } };
}

/**
 * Downloads a part and keeps the files that are needed. Its folder is complete or absent: an incomplete download, or one with a wrong
 * checksum, is removed before anything is unpacked. Rejects with a text for the user.
 */
export async function fetchPart(
  part: VoicePart,
  options: { folder: string; registry: string; signal: AbortSignal; onBytes: (count: number) => void },
): Promise<void> {
  const { folder, registry, signal, onBytes } = options;
  mkdirSync(folder, { recursive: true });
  const scratch = mkdtempSync(join(folder, `${part.name}.new-`));
  try {
    const { address, headers } = withoutPassword(new URL(part.tarball, registry));
    const { origin } = address;
    const response = await fetch(address, { signal, headers }).catch((error: unknown) => {
      throw new Error(
        `${part.name} could not be downloaded: ${origin} cannot be reached (${reasonOf(error)}).`,
      );
    });
    if (!response.ok || !response.body) {
      throw new Error(`${part.name} could not be downloaded: ${origin} answered ${response.status}.`);
    }
    const tarball = join(scratch, 'tarball');
    const hash = createHash('sha512');
    const counted = async function* (source: AsyncIterable<Buffer>) {
      for await (const bytes of source) {
        hash.update(bytes);
        onBytes(bytes.length);
        yield bytes;
      }
    };
    const body = Readable.fromWeb(response.body as ReadableStream);
    const arrived = pipeline(body, counted, createWriteStream(tarball), { signal });
    await arrived.catch((error: unknown) => {
      throw new Error(`The download of ${part.name} broke off (${reasonOf(error)}).`);
    });
    if (hash.digest('base64') !== part.sha512) {
      throw new Error(`${part.name} was downloaded with a wrong checksum, so it is not used.`);
    }
    const files = join(scratch, part.name);
    const unpack = unpackTar(files, { strip: 1, filter: ({ name }) => name in part.files });
    await pipeline(createReadStream(tarball), createGunzip(), unpack, { signal });
    if (!hasPart(part, scratch)) throw new Error(`${part.name} lacks files that are needed.`);
    const target = join(folder, part.name);
    rmSync(target, { recursive: true, force: true });
    renameSync(files, target);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** `fetch` gives the reason of a failure only in `cause`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function lengthOf(file: string): number | null {
  try {
    return statSync(file).size;
  } catch {
    return null;
  }
}
