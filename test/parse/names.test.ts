import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ApiNames } from '../../src/parse/api.ts';
import { APIS } from '../../src/parse/apis/index.ts';

const src = new URL('../../src/parse/', import.meta.url);
const modules = await Promise.all(
  readdirSync(new URL('apis/', src))
    .filter((file) => file !== 'index.ts')
    .map((file) => import(new URL(`apis/${file}`, src).href) as Promise<{ names: ApiNames }>),
);

/** What each name stands for: `usage.input` has `input_tokens`. */
const meanings = new Map<string, Map<string, Set<string>>>();
for (const { names } of modules)
  for (const [table, things] of Object.entries(names))
    for (const [thing, listed] of Object.entries<string>(things))
      for (const name of listed.split(' ')) {
        const known = meanings.get(table) ?? new Map<string, Set<string>>();
        meanings.set(table, known);
        known.set(name, (known.get(name) ?? new Set()).add(thing));
      }

function namesOf(table: string, thing: string): string[] {
  return [...(meanings.get(table) ?? [])].filter(([, things]) => things.has(thing)).map(([name]) => name);
}

const MARK =
  /^( *)\/\/ (body|part|kind|call|source|usage)\.(\w+)\n(?: *case '[^']+':\n)*? *case '[^']+':( \{)?\n(?! *case)/gm;
const READERS = ['body.ts', 'citations.ts', 'parts.ts', 'usage.ts'];

/** A reader with the labels of its `switch` as the APIs have them. */
function labelled(text: string): string {
  return text.replace(MARK, (_, indent: string, table: string, thing: string, block = '') => {
    const labels = namesOf(table, thing).map((name) => `\n${indent}case '${name}':`);
    return `${indent}// ${table}.${thing}${labels.join('')}${block}\n`;
  });
}

describe('the names of the APIs', () => {
  it.each(READERS)('are the labels in %s', async (file) => {
    const path = new URL(file, src).pathname;
    await expect(labelled(readFileSync(path, 'utf8'))).toMatchFileSnapshot(path);
  });

  it('are all read somewhere', () => {
    const read = READERS.flatMap((file) =>
      [...readFileSync(new URL(file, src), 'utf8').matchAll(MARK)].map(
        ([, , table, thing]) => `${table}.${thing}`,
      ),
    );
    const named = [...meanings].flatMap(([table, known]) =>
      [...known.values()].flatMap((things) => [...things].map((thing) => `${table}.${thing}`)),
    );
    expect([...new Set(named)].sort()).toEqual(read.sort());
  });

  it.each([...meanings])('of a %s stand for one thing each', (_, known) => {
    expect([...known].filter(([, things]) => things.size > 1)).toEqual([]);
  });

  it('are beside a description that is in the list', () => {
    expect(modules).toHaveLength(APIS.length);
  });
});
