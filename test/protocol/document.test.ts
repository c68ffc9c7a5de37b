import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CHUNK_TYPES, ERRORS, TRANSIENT_DATA, TRANSITIONS } from '../../src/protocol/index.ts';

const text = readFileSync(new URL('../../PROTOCOL.md', import.meta.url), 'utf8');

/** The rows of the table that follows a rule, cell by cell. */
function tableAfter(rule: string): string[][] {
  const lines = text.slice(text.indexOf(`**${rule}** `)).split('\n');
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

/** The names that a cell shows as code. */
function namesIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

describe('PROTOCOL.md', () => {
  test('[C1] lists the chunks that there are', () => {
    const listed = tableAfter('C1').flatMap(([cell]) => namesIn(cell));
    expect(listed.sort()).toEqual([...CHUNK_TYPES, 'data-<name>'].sort());
  });

  test('[C10] says which data is transient', () => {
    const transient = tableAfter('C10').flatMap(([cell, , mark]) => (mark === 'yes' ? namesIn(cell) : []));
    expect(transient.sort()).toEqual(TRANSIENT_DATA.map((name) => `data-${name}`).sort());
  });

  test('[E1] lists the errors that there are, with their numbers', () => {
    const listed = tableAfter('E1').map(([code, status, retry, close]) => [
      namesIn(code)[0],
      { status: Number(status), retryable: retry === 'yes', ...(close ? { close: Number(close) } : {}) },
    ]);
    expect(Object.fromEntries(listed)).toEqual(ERRORS);
  });

  test('[T1] shows the arrows that there are', () => {
    const all = ['input-streaming', 'input-available', 'approval-requested', 'approval-responded'];
    const shown = tableAfter('T1').flatMap(([from, , to]) =>
      (from === 'any of the four' ? all : namesIn(from)).map((state) => `${state} ${namesIn(to)[0]}`),
    );
    const arrows = Object.entries(TRANSITIONS).flatMap(([from, row]) =>
      Object.values(row).map((to) => `${from} ${to}`),
    );
    expect(shown.sort()).toEqual([...new Set(arrows)].sort());
  });
});
