import { Visitor } from 'vite';
import { expect, test } from 'vitest';
import { parseFile } from './support/module.ts';
import { sourcesUnder } from './support/repository.ts';

/** Where an unhandled rejection ends the process, and with it the work of all users. */
const PLACES = ['src/adk', 'src/models', 'src/server', 'src/cli', 'demo/server', 'demo/tools'];

/** Calls whose promise is thrown away by `void`; those that are not even marked so are found by the linter. */
function unheard(file: string, text?: string): string[] {
  const found: string[] = [];
  const { program } = parseFile(file, text);
  new Visitor({
    UnaryExpression: (node) => {
      if (node.operator === 'void' && node.argument.type === 'CallExpression')
        found.push(`${file}, at ${node.start}`);
    },
  }).visit(program);
  return found;
}

test('on the server, work that nobody waits for has someone who hears it fail', () => {
  expect(unheard('example.ts', 'void work();')).toEqual(['example.ts, at 0']);
  expect(unheard('example.ts', 'work().catch(tell); const nothing = void 0;')).toEqual([]);
  expect(PLACES.flatMap((place) => sourcesUnder(place)).flatMap((file) => unheard(file))).toEqual([]);
});
