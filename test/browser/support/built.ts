import { mkdirSync, rmSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The repository's root folder. */
export const root = resolve(fileURLToPath(new URL('../../..', import.meta.url)));

const LOCK = resolve(root, 'node_modules/.duologue-build');
const WAIT_MS = 5 * 60_000;

/** The demo as it was built: the one of this checkout, or a copy that nobody builds anew meanwhile. */
export const demo = process.env.DUOLOGUE_TEST_DEMO ?? resolve(root, 'demo');

/** Builds what `npm start` builds, if it is not built; test files that run at the same time wait for one another. */
export async function built(): Promise<void> {
  if (process.env.DUOLOGUE_TEST_DEMO) return;
  const { build } = (await import('../../../scripts/lib/build.mjs' as string)) as {
    build: () => Promise<{ ok: boolean; note: string; output?: string }>;
  };
  const release = await locked();
  try {
    const result = await build();
    if (!result.ok) throw new Error(`${result.note}\n${result.output ?? ''}`);
  } finally {
    release();
  }
}

async function locked(): Promise<() => void> {
  for (const end = Date.now() + WAIT_MS; Date.now() < end; ) {
    try {
      mkdirSync(LOCK);
      return () => rmSync(LOCK, { recursive: true, force: true });
    } catch {
      // Left behind by a run that was killed.
      if (Date.now() - (statSync(LOCK, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > WAIT_MS) {
        rmSync(LOCK, { recursive: true, force: true });
      }
      await sleep(100);
    }
  }
  throw new Error('Another build has not come to its end.');
}
