import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DATA } from '../../src/protocol/wire/data.ts';
import { CLIENT_FRAMES } from '../../src/protocol/wire/frames.ts';
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
  test.each(Object.keys(CLIENT_FRAMES).filter((type) => type.includes('_')))(
    'the frame %s is named by its declaration, by its reader and where it is done, and nowhere else on the server',
    (type) => {
      const naming = [...sourcesUnder('src/protocol'), ...sourcesUnder('src/server')].filter((file) =>
        new RegExp(`'${type}'|\\b${type}:`).test(read(file)),
      );
      const places = [
        'src/protocol/wire/frames.ts',
        'src/protocol/frames.ts',
        'src/server/socket/incoming.ts',
      ];
      expect(naming.filter((file) => !places.includes(file))).toEqual([]);
      expect(naming).toContain('src/protocol/wire/frames.ts');
    },
  );

  test.each(Object.keys(DATA))(
    'in the protocol the chunk data-%s is named by its declaration, and nowhere else',
    (name) => {
      const naming = sourcesUnder('src/protocol').filter((file) => read(file).includes(`'data-${name}'`));
      // A user message may hold pictures as `data-image` parts, too.
      expect(naming).toEqual(name === 'image' ? ['src/protocol/read.ts'] : []);
      const declaring = new RegExp(`^  (${name}|'${name}'): entry\\(`, 'm');
      expect(declaring.test(read('src/protocol/wire/data.ts'))).toBe(true);
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
