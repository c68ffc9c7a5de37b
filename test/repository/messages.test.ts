import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findMessages } from '../../scripts/messages/find-messages.ts';
import { FROZEN, pageOf } from '../../scripts/messages/page.ts';
import { ERRORS } from '../../src/protocol/index.ts';
import { read, repositoryFiles, root } from './support/repository.ts';

describe('log lines and errors', () => {
  const messages = findMessages(join(root, 'src'));

  test('are those of docs/messages.md (npm run messages writes it)', () => {
    expect(read('docs/messages.md')).toBe(pageOf(messages));
  });

  test('are found: of each kind there are many', () => {
    const counts = Object.values(messages).map((found) => found.length);
    expect(counts.every((count) => count > 10)).toBe(true);
  });

  test('that reach a client have a code of the table', () => {
    const codes = new Set(messages.protocol.map(({ kind }) => kind));
    // These codes are found at run time, by the number with which a socket closed.
    const known = new Set([...Object.keys(ERRORS), '{value}', '{code}']);
    expect([...codes].filter((code) => !known.has(code))).toEqual([]);
  });

  test('that are frozen are those of the protocol, and of the recorded conversations', () => {
    const protocol = read('PROTOCOL.md');
    const [, table = ''] = /^\*\*T5\*\* .*\n\n((?:\|.*\n)+)/m.exec(protocol) ?? [];
    const ofT5 = [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, text]) => text);
    const frozen = FROZEN.map(({ text }) => text);
    expect(FROZEN.flatMap(({ text, rule }) => (rule === 'T5' ? [text] : [])).sort()).toEqual(ofT5.sort());
    for (const { text, rule } of FROZEN)
      expect(protocol, text).toMatch(new RegExp(`^\\*\\*${rule}\\*\\* `, 'm'));
    const recorded = repositoryFiles()
      .filter((path) => /^fixtures\/frontend\/.*\.json$/.test(path))
      .flatMap((path) =>
        [...read(path).matchAll(/"errorText": "([^"]+)"/g)].flatMap(([, text]) => text ?? []),
      );
    expect(recorded.length).toBeGreaterThan(10);
    expect(recorded.filter((text) => !frozen.includes(text))).toEqual([]);
  });

  test('that are warnings and errors of the log say what follows or what to do', () => {
    const bare = messages.logs.filter(({ level, text }) => level !== 'info' && !/[:.]/.test(text));
    expect(bare.filter(({ text }) => !/^\{\w+\}/.test(text)).map(({ text }) => text)).toEqual([]);
  });
});
