import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's root folder. */
export const root = resolve(fileURLToPath(new URL('../../..', import.meta.url)));

/** The folder of the built demo: that of this checkout, or a copy that no other process rebuilds during the tests. */
export const demo = process.env.DUOLOGUE_TEST_DEMO ?? resolve(root, 'demo');

/** Builds what `npm start` builds, if it is out of date, under the build lock. */
export async function built(): Promise<void> {
  if (process.env.DUOLOGUE_TEST_DEMO) return;
  const { build } = (await import('../../../scripts/lib/build.mjs' as string)) as {
    build: () => Promise<{ ok: boolean; note: string; output?: string }>;
  };
  const { alone } = (await import('../../../scripts/lib/lock.mjs' as string)) as {
    alone: <T>(work: () => Promise<T>) => Promise<T>;
  };
  const result = await alone(() => build());
  if (!result.ok) throw new Error(`${result.note}\n${result.output ?? ''}`);
}
