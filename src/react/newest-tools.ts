import type { Executors } from '../client/index.ts';

/** Tools by the names of the first ones; each does what the newest of its name does. */
export function newestTools(first: Executors, newest: () => Executors | undefined): Executors {
  return Object.fromEntries(
    Object.keys(first).map((name) => [
      name,
      (input: never, context) => {
        const tool = newest()?.[name];
        if (!tool) throw new Error(`This page has no tool ${name} any more.`);
        return tool(input, context);
      },
    ]),
  ) as Executors;
}
