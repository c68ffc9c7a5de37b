import type { TestRunner } from '../test-runner.ts';
import type { Opened } from './opened.ts';
import { keyOf } from './records.ts';

const key = keyOf('s1');

/** What a store promises about files. */
export function filesSuite({ test, expect, beforeEach }: TestRunner, { store }: Opened): void {
  beforeEach(() => store().createSession(key, {}));

  test('a file comes back byte for byte, an empty one too, and is replaced by its id', async () => {
    const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => index % 256);
    await store().putFile(key, 'f1', { mediaType: 'image/png', bytes });
    await store().putFile(key, 'f2', { mediaType: 'text/plain', bytes: new Uint8Array() });
    expect(await store().loadFile(key, 'f1')).toEqual({ mediaType: 'image/png', bytes });
    expect(await store().loadFile(key, 'f2')).toEqual({ mediaType: 'text/plain', bytes: new Uint8Array() });
    await store().putFile(key, 'f1', { mediaType: 'image/webp', bytes: bytes.subarray(10, 12) });
    expect(await store().loadFile(key, 'f1')).toEqual({
      mediaType: 'image/webp',
      bytes: new Uint8Array([10, 11]),
    });
    expect(await store().loadFile(key, 'f3')).toBeNull();
  });
}
