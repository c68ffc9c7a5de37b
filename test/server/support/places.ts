import { posix } from 'node:path';
import { importsOf, isRelative } from '../../repository/support/module.ts';
import { sourcesUnder } from '../../repository/support/repository.ts';

/** The files that lead to the places of the server which are more than one file. */
const DOORS = [
  'src/server/duologue.ts',
  'src/server/socket/sockets.ts',
  'src/server/conversation/conversation.ts',
  'src/server/conversation/shell.ts',
  'src/server/conversation/machine/machine.ts',
  'src/server/output/output.ts',
];

/** The files of the server, each with its place: a door's, if everything that uses it at run time is of that place, else its own. */
export function placesOf(): ReadonlyMap<string, string> {
  const files = sourcesUnder('src/server');
  const users = new Map<string, string[]>();
  for (const file of files) {
    for (const { specifier, kind } of importsOf(file)) {
      if (kind === 'type' || !isRelative(specifier)) continue;
      const used = posix.join(posix.dirname(file), specifier);
      users.set(used, [...(users.get(used) ?? []), file]);
    }
  }
  const places = new Map(files.map((file) => [file, file]));
  // From the doors inwards, until nothing moves any more.
  for (let isMoving = true; isMoving; ) {
    isMoving = false;
    for (const file of files) {
      if (DOORS.includes(file)) continue;
      const around = new Set((users.get(file) ?? []).map((user) => places.get(user) ?? user));
      around.delete(file);
      const [only] = around;
      if (around.size !== 1 || !only || !DOORS.includes(only) || only === places.get(file)) continue;
      places.set(file, only);
      isMoving = true;
    }
  }
  return places;
}
