#!/usr/bin/env node
/**
 * The `duologue` command. Each subcommand is one file, which is loaded only when the user calls it, so a subcommand does not need
 * the peer dependencies of another. A subcommand reads and writes only through the `Io` that `run` passes, and keeps no state.
 */
import { pathToFileURL } from 'node:url';
import type { Command, Io } from './parse.ts';

const COMMANDS: Readonly<Record<string, { about: string; load: () => Promise<{ command: Command }> }>> = {
  parse: { about: "show a model provider's response", load: () => import('./parse.ts') },
};

const EXIT_USAGE = 2;

function help(): string {
  const lines = Object.entries(COMMANDS).map(([name, { about }]) => `  ${name.padEnd(8)} ${about}`);
  return `usage: duologue COMMAND [options]\n\n${lines.join('\n')}\n\nduologue COMMAND --help tells more.\n`;
}

/** Runs the command line and returns the exit code. */
export async function run(args: readonly string[], io: Io): Promise<number> {
  const [name = '', ...rest] = args;
  const known = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (known === undefined) {
    const asked = ['', 'help', '-h', '--help'].includes(name);
    if (asked) io.out(help());
    else io.err(`duologue: no command "${name}"\n\n${help()}`);
    return asked && name !== '' ? 0 : EXIT_USAGE;
  }
  return (await known.load()).command(rest, io);
}

const main = process.argv[1];
if (main !== undefined && import.meta.url === pathToFileURL(await realpath(main)).href) {
  process.exitCode = await run(process.argv.slice(2), {
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    stdin: process.stdin,
    isTerminal: process.stderr.isTTY === true,
    now: () => performance.now(),
  });
}

// npm starts the command through a symbolic link, so `process.argv[1]` is not the path of this file.
async function realpath(path: string): Promise<string> {
  const { realpath: resolve } = await import('node:fs/promises');
  return resolve(path).catch(() => path);
}
