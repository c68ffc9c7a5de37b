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

/** The address of a registry may have a name and a password in it: they go into a header, and into no message. */
function withoutPassword(address: URL): { address: URL; headers: Record<string, string> } {
  const { username, password } = address;
  address.username = '';
  address.password = '';
  if (username === '' && password === '') return { address, headers: {} };
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { address, headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } };
}

/**
 * Fetches a part and keeps the files that are needed. The folder is complete or absent: a broken download, or one with another hash, is
 * removed before anything is unpacked.
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
      throw new Error(`${part.name} could not be fetched: ${origin} cannot be reached (${reasonOf(error)}).`);
    });
    if (!response.ok || !response.body) {
      throw new Error(`${part.name} could not be fetched: ${origin} answered ${response.status}.`);
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
      throw new Error(`${part.name} broke off on its way (${reasonOf(error)}).`);
    });
    if (hash.digest('base64') !== part.sha512) {
      throw new Error(`${part.name} is not what it should be: its checksum is wrong.`);
    }
    const files = join(scratch, part.name);
    const unpack = unpackTar(files, { strip: 1, filter: ({ name }) => name in part.files });
    await pipeline(createReadStream(tarball), createGunzip(), unpack, { signal });
    if (!hasPart(part, scratch)) throw new Error(`${part.name} came without the files that are needed.`);
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
