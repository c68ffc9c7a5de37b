// @vitest-environment jsdom
import { act } from 'react';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { usePictures } from '../src/images/use-pictures.ts';
import { mountHook, until } from './support/mount.tsx';

/** Functions that finish the decoding of a picture, by the size of the picture in bytes. */
const decoding = new Map<number, () => void>();

beforeEach(() => {
  // jsdom cannot decode pictures. This replacement ends the decoding when the test calls the function in `decoding`.
  vi.stubGlobal('createImageBitmap', ({ size }: Blob) => {
    const bitmap = { width: 8, height: 8, close: () => undefined };
    return new Promise((resolve) => decoding.set(size, () => resolve(bitmap)));
  });
});
afterEach(() => {
  decoding.clear();
  vi.unstubAllGlobals();
});

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const png = (name: string, bytes: number) =>
  new File([new Uint8Array([...PNG, ...Array(bytes - PNG.length).fill(0)])], name);
const letter = (name: string) => new File(['Dear Alice'], name);

type Pictures = ReturnType<typeof usePictures>;
const places = ({ places: all }: Pictures) => all.map(({ name, picture }) => [name, picture !== null]);

async function add(hook: { readonly result: Pictures }, ...files: File[]) {
  const before = decoding.size;
  await act(async () => hook.result.add(files));
  await until(() => {
    expect(decoding.size).toBeGreaterThan(before);
    expect(hook.result.places.length).toBe(decoding.size);
  });
}
async function decode(hook: { readonly result: Pictures }, bytes: number) {
  const ready = hook.result.pictures.length;
  await act(async () => decoding.get(bytes)?.());
  await until(() => expect(hook.result.pictures.length).toBe(ready + 1));
}

describe('the pictures of a message', () => {
  test('keep the order in which they were chosen, whichever is ready first', async () => {
    const hook = await mountHook(() => usePictures());
    await add(hook, png('large.png', 300), png('small.png', 30));
    await decode(hook, 30);
    expect([places(hook.result), hook.result.isPreparing]).toEqual([
      [
        ['large.png', false],
        ['small.png', true],
      ],
      true,
    ]);
    await decode(hook, 300);
    expect(hook.result.pictures.map(({ name }) => name)).toEqual(['large.png', 'small.png']);
    expect(hook.result.isPreparing).toBe(false);
  });

  test('have room for four: files that are none take no room, and each of them is named', async () => {
    const hook = await mountHook(() => usePictures());
    await add(hook, png('1.png', 31), png('2.png', 32), png('3.png', 33));
    await add(hook, letter('a.txt'), letter('b.txt'), png('4.png', 34), letter('c.txt'));
    expect(places(hook.result).map(([name]) => name)).toEqual(['1.png', '2.png', '3.png', '4.png']);
    expect(hook.result.refusals).toEqual(
      ['a.txt', 'b.txt', 'c.txt'].map((name) => `“${name}” is not a PNG, JPEG or WebP picture.`),
    );
  });

  test('say that there were too many only until one is taken out', async () => {
    const hook = await mountHook(() => usePictures());
    await add(hook, ...[31, 32, 33, 34, 35].map((bytes) => png(`${bytes}.png`, bytes)));
    expect(hook.result.refusals).toEqual([
      'You can send up to 4 files in a message. The others were left out.',
    ]);
    await decode(hook, 31);
    await act(async () => hook.result.remove(hook.result.pictures[0]?.id ?? ''));
    expect(places(hook.result).map(([name]) => name)).toEqual(['32.png', '33.png', '34.png']);
    expect(hook.result.refusals).toEqual([]);
  });
});
