import { expect } from 'vitest';
import type { SmallServer } from './small-heap.ts';

/** Audit lines of the session `long` of the one user, for tests that read all of them. */
export const LINES = 500_000;

/** Reads the audit log of the session `long` page by page, and expects every line once, in order. */
export async function readWholeLog(server: SmallServer): Promise<void> {
  let expected = LINES;
  let cursor: string | null = null;
  do {
    const response: Response = await fetch(
      `${server.url}/approvals/long${cursor ? `?before=${cursor}` : ''}`,
    );
    expect(response.status).toBe(200);
    const lines = (await response.text()).split('\n').filter(Boolean);
    expect(lines.length).toBeLessThanOrEqual(1000);
    const reasons = lines.map((line) => (JSON.parse(line) as { reason: string }).reason);
    const start = expected - lines.length;
    expect(reasons).toEqual(lines.map((_, index) => `line ${start + index + 1}`));
    expected = start;
    cursor = response.headers.get('x-duologue-older');
  } while (cursor !== null);
  expect(expected).toBe(0);
  expect(server.isAlive()).toBe(true);
}
