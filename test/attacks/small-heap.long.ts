import { expect, it } from 'vitest';
import { png } from '../server/support/images.ts';
import { startSmall } from './support/small-heap.ts';

const MB = 1024 * 1024;

const picture = (bytes: number) =>
  `data:image/png;base64,${Buffer.concat([png, Buffer.alloc(bytes - png.byteLength)]).toString('base64')}`;

/** A post of pictures, for a new session each time. */
const bodyOf = (pictures: string[]) =>
  JSON.stringify({
    messages: [
      { role: 'user', parts: pictures.map((url) => ({ type: 'file', mediaType: 'image/png', url })) },
    ],
  });

const post = (url: string, body: string) =>
  fetch(`${url}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  }).then(
    async (answer) => {
      await answer.text();
      return answer.status;
    },
    // A body that is refused is not read to its end: the answer may be lost on the way.
    () => 413,
  );

it('[A11] a small heap refuses bodies of 24 MB, takes those it has room for, and lives', async () => {
  const server = await startSmall({ heapMb: 96 });
  const large = bodyOf(Array.from({ length: 4 }, () => picture(4.4 * MB)));
  expect(await Promise.all([1, 2, 3, 4].map(() => post(server.url, large)))).toEqual([413, 413, 413, 413]);
  const fits = bodyOf([picture(2 * MB)]);
  for (let round = 0; round < 3; round++) {
    const statuses = await Promise.all([1, 2, 3, 4].map(() => post(server.url, fits)));
    expect(statuses).toContain(200);
    expect(statuses.filter((status) => ![200, 503, 413].includes(status))).toEqual([]);
  }
  expect(server.isAlive()).toBe(true);
  expect((await fetch(`${server.url}/health`)).status).toBe(200);
});
