import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { TRANSIENT_DATA } from '../../src/protocol/chunks.ts';
import { DATA_FIELDS } from '../../src/protocol/fields.ts';
import { FRAME_SCHEMAS } from '../../src/protocol/frame-schemas.ts';
import { importsOf, isRelative } from './support/module.ts';
import { read, sourcesUnder } from './support/repository.ts';

const sources = sourcesUnder('src');

/** The source files outside a folder that import something of it. */
function importersOf(folder: string): string[] {
  return sources.filter(
    (file) =>
      !file.startsWith(folder) &&
      importsOf(file).some(
        ({ specifier }) =>
          isRelative(specifier) && posix.join(posix.dirname(file), specifier).startsWith(folder),
      ),
  );
}

/** The files of a folder that import a file of it. */
const importersWithin = (folder: string, name: string): string[] =>
  sourcesUnder(folder).filter((file) => importsOf(file).some(({ specifier }) => specifier === `./${name}`));

describe('what a change touches (CONTRIBUTING.md)', () => {
  test.each(Object.keys(FRAME_SCHEMAS).filter((type) => type.includes('_')))(
    'the frame %s is named by its schema, by its reader and where it is done, and nowhere else on the server',
    (type) => {
      const naming = [...sourcesUnder('src/protocol'), ...sourcesUnder('src/server')].filter((file) =>
        new RegExp(`'${type}'|\\b${type}:`).test(read(file)),
      );
      const places = [
        'src/protocol/frame-schemas.ts',
        'src/protocol/frames.ts',
        'src/server/socket/incoming.ts',
      ];
      expect(naming.filter((file) => !places.includes(file))).toEqual([]);
      expect(naming).toContain('src/protocol/frame-schemas.ts');
    },
  );

  test.each(TRANSIENT_DATA)(
    'in the protocol the chunk data-%s is named by its data and its fields, and nowhere else',
    (name) => {
      const naming = sourcesUnder('src/protocol').filter((file) => read(file).includes(`'data-${name}'`));
      const places = ['src/protocol/chunks.ts', 'src/protocol/fields.ts'];
      expect(naming.filter((file) => !places.includes(file))).toEqual([]);
      expect(Object.keys(DATA_FIELDS)).toContain(name);
    },
  );

  test.each(['sqlite', 'postgres', 'redis'])(
    'a store or a hub is a folder that nothing else of the library imports: %s',
    (name) => {
      expect(sourcesUnder(`src/server/${name}`).length).toBeGreaterThan(1);
      expect(importersOf(`src/server/${name}/`)).toEqual([]);
    },
  );

  test('a provider of models is a file that only the list of them names', () => {
    expect(importersWithin('src/models/providers', 'anthropic.ts')).toEqual([
      'src/models/providers/index.ts',
    ]);
    expect(importersWithin('src/models/providers', 'bedrock.ts')).toEqual(['src/models/providers/index.ts']);
  });

  test('an API of the parser is a file that only the list of them names, or another API that builds on it', () => {
    const readers = importersOf('src/parse/apis/').filter((file) =>
      importsOf(file).some(({ specifier }) => /apis\/(?!index\.ts)/.test(specifier)),
    );
    expect(readers).toEqual([]);
  });
});
