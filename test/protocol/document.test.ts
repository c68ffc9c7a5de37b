import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CHUNK_FIELDS, DATA_FIELDS } from '../../src/protocol/fields.ts';
import { FRAME_SCHEMAS } from '../../src/protocol/frame-schemas.ts';
import { CHUNK_TYPES, ERRORS, TRANSIENT_DATA, TRANSITIONS } from '../../src/protocol/index.ts';

const text = readFileSync(new URL('../../PROTOCOL.md', import.meta.url), 'utf8');

/** The rows of the table that follows a place in the text, cell by cell. */
function tableAfter(place: string): string[][] {
  const lines = text.slice(text.indexOf(place)).split('\n');
  const start = lines.findIndex((line) => line.startsWith('|---'));
  const rows = lines.slice(start + 1);
  const end = rows.findIndex((line) => !line.startsWith('|'));
  return rows.slice(0, end).map((row) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

const rule = (name: string) => `**${name}** `;

/** What a cell shows as code. */
function namesIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

/** A field as the document writes it, `name?` or `name: value`, with whether it may be left out. */
function field(text: string): [string, string] {
  const [, name = '', mark] = /^(\w+)(\?)?/.exec(text) ?? [];
  return [name, mark ? 'optional' : 'required'];
}

/** The fields of an object that is written as `{a, b?, c: 1}`. */
function fieldsOf(object: string): Record<string, string> {
  const [, inside = ''] = /^\{(.*)\}$/.exec(object) ?? [];
  return Object.fromEntries(inside.split(', ').map(field));
}

/** What a chunk's row says: its types, each with the fields of the row. */
function chunkRow([types, cell = '']: string[]): [string, Record<string, string>][] {
  // Blocks share a row: the fields of the delta stand behind its name.
  const [shared = '', delta = ''] = cell.split('; delta: ');
  const fields = (part: string) => namesIn(part).map(field);
  return namesIn(types).map((type) => [
    type,
    Object.fromEntries([...fields(shared), ...(type.endsWith('-delta') ? fields(delta) : [])]),
  ]);
}

describe('PROTOCOL.md', () => {
  test('[C1] lists the chunks that there are, with their fields', () => {
    const { 'data-<name>': data, ...listed } = Object.fromEntries(tableAfter(rule('C1')).flatMap(chunkRow));
    expect(listed).toEqual(CHUNK_FIELDS);
    expect(Object.keys(listed).sort()).toEqual([...CHUNK_TYPES].sort());
    expect(data).toEqual({ data: 'required', id: 'optional', transient: 'optional' });
  });

  test('[C10] lists the data that there is, with its fields, and says which is transient', () => {
    const rows = tableAfter(rule('C10'));
    const listed = rows.map(([cell, data]) => [
      namesIn(cell)[0]?.slice('data-'.length),
      fieldsOf(namesIn(data)[0] ?? ''),
    ]);
    expect(Object.fromEntries(listed)).toEqual(DATA_FIELDS);
    const transient = rows.flatMap(([cell, , mark]) => (mark === 'yes' ? namesIn(cell) : []));
    expect(transient.sort()).toEqual(TRANSIENT_DATA.map((name) => `data-${name}`).sort());
  });

  test('[B1] lists the frames that a client may send, with their fields', () => {
    const rows = tableAfter('| client frame |').filter(([cell]) => cell?.startsWith('`'));
    const listed = rows.map(([cell, data]) => [
      namesIn(cell)[0],
      Object.fromEntries(namesIn(data).map(field)),
    ]);
    const frames = Object.entries(FRAME_SCHEMAS).map(([type, schema]) => [
      type,
      Object.fromEntries(
        Object.entries(schema.shape).map(([name, inner]) => [
          name,
          inner.safeParse(undefined).success ? 'optional' : 'required',
        ]),
      ),
    ]);
    expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(frames));
  });

  test('[E1] lists the errors that there are, with their numbers', () => {
    const listed = tableAfter(rule('E1')).map(([code, status, retry, close]) => [
      namesIn(code)[0],
      { status: Number(status), retryable: retry === 'yes', ...(close ? { close: Number(close) } : {}) },
    ]);
    expect(Object.fromEntries(listed)).toEqual(ERRORS);
  });

  test('[E2] says what an error consists of', () => {
    const [shape = ''] = namesIn(text.slice(text.indexOf(rule('E2'))));
    expect(fieldsOf(shape)).toEqual(DATA_FIELDS.error);
  });

  test('[T1] shows the arrows that there are', () => {
    const all = ['input-streaming', 'input-available', 'approval-requested', 'approval-responded'];
    const shown = tableAfter(rule('T1')).flatMap(([from, , to]) =>
      (from === 'any of the four' ? all : namesIn(from)).map((state) => `${state} ${namesIn(to)[0]}`),
    );
    const arrows = Object.entries(TRANSITIONS).flatMap(([from, row]) =>
      Object.values(row).map((to) => `${from} ${to}`),
    );
    expect(shown.sort()).toEqual([...new Set(arrows)].sort());
  });
});
