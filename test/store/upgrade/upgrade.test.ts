import { copyFileSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { openSqliteStore } from '../../../src/server/sqlite/index.ts';
import { createFolder } from '../support/stores.ts';
import { expectUpgrade } from './old-data.ts';

const saved = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Files that earlier builds wrote, by the version of their schema, with what those builds returned of them. */
test.each(['sqlite-4'])('a database of an earlier build is read as it was, and goes on: %s', async (name) => {
  const folder = createFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  copyFileSync(saved(`${name}.db`), join(folder, 'duologue.db'));
  expect.hasAssertions();
  await expectUpgrade(await openSqliteStore(folder), JSON.parse(readFileSync(saved(`${name}.json`), 'utf8')));
});
