import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { testSchema } from '../../cluster/support/schema.ts';
import { expectUpgrade } from './old-data.ts';

const saved = (name: string) => readFileSync(fileURLToPath(new URL(name, import.meta.url)), 'utf8');

const schema = testSchema();

/** Dumps (`pg_dump --inserts`) of what earlier builds wrote, by the version of their schema, with what those builds returned of them. */
test.each(['postgres-1'])('a schema of an earlier build is read as it was, and goes on: %s', async (name) => {
  await schema.sql(saved(`${name}.sql`).replaceAll('duologue_old', schema.name));
  await schema.sql('reset search_path');
  expect.hasAssertions();
  await expectUpgrade(await schema.open(), JSON.parse(saved(`${name}.json`)));
});
