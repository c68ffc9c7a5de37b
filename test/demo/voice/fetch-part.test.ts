import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fetchPart, hasPart } from '../../../demo/server/voice/fetch-part.ts';
import type { VoicePart } from '../../../demo/server/voice/parts.ts';

let folder: string;
let server: Server;
/** What the registry sends; null breaks the connection in the middle. */
let sent: { bytes: Buffer; breaksOff?: boolean; status?: number };
let part: VoicePart;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'voice-'));
  const bytes = gzipSync(
    Buffer.concat([...file('package/big.onnx', 'heard'), ...file('package/other.js', 'not')]),
  );
  sent = { bytes };
  part = {
    name: 'ears-1.0.0',
    tarball: 'ears/-/ears-1.0.0.tgz',
    sha512: createHash('sha512').update(bytes).digest('base64'),
    bytes: bytes.length,
    files: { 'big.onnx': 5 },
  };
  server = createServer((_request, response) => {
    response.writeHead(sent.status ?? 200, { 'content-length': sent.bytes.length });
    if (!sent.breaksOff) response.end(sent.bytes);
    else response.write(sent.bytes.subarray(0, 20), () => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
});

afterEach(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

function fetchIt(signal = new AbortController().signal): Promise<number> {
  let total = 0;
  const registry = `http://localhost:${(server.address() as AddressInfo).port}/`;
  const onBytes = (count: number) => {
    total += count;
  };
  return fetchPart(part, { folder, registry, signal, onBytes }).then(() => total);
}

test('a part is fetched, checked, and only what is needed is kept', async () => {
  expect(hasPart(part, folder)).toBe(false);
  expect(await fetchIt()).toBe(part.bytes);
  expect(hasPart(part, folder)).toBe(true);
  expect(readFileSync(join(folder, 'ears-1.0.0', 'big.onnx'), 'utf8')).toBe('heard');
  expect(existsSync(join(folder, 'ears-1.0.0', 'other.js'))).toBe(false);
});

test('a part with another checksum is not kept', async () => {
  part = { ...part, sha512: createHash('sha512').update('another').digest('base64') };
  await expect(fetchIt()).rejects.toThrow(
    'ears-1.0.0 was downloaded with a wrong checksum, so it is not used.',
  );
  expect(readdirSync(folder)).toEqual([]);
});

test('a part that breaks off leaves nothing behind, and can be fetched again', async () => {
  sent.breaksOff = true;
  await expect(fetchIt()).rejects.toThrow();
  expect(readdirSync(folder)).toEqual([]);
  sent.breaksOff = false;
  await fetchIt();
  expect(hasPart(part, folder)).toBe(true);
});

test('a registry that refuses is named', async () => {
  sent.status = 404;
  await expect(fetchIt()).rejects.toThrow(/ears-1\.0\.0 could not be downloaded: http:.* answered 404\./);
});

test('a file that was cut short since is missed', async () => {
  await fetchIt();
  truncateSync(join(folder, 'ears-1.0.0', 'big.onnx'), 3);
  expect(hasPart(part, folder)).toBe(false);
  await fetchIt();
  expect(hasPart(part, folder)).toBe(true);
});

test('whoever stops waiting stops the fetching', async () => {
  await expect(fetchIt(AbortSignal.abort())).rejects.toThrow();
  expect(readdirSync(folder)).toEqual([]);
});

/** A file in a tar: a header of 512 bytes and the content, filled up to 512. */
function file(name: string, content: string): Buffer[] {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write('0000644\0', 100);
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
  header.write('ustar\x0000', 257);
  header.write('        ', 148);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const body = Buffer.alloc(512);
  body.write(content);
  return [header, body];
}
