import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Page } from 'playwright-core';
import { root } from './built.ts';

/** The examples with a page that talks to the florist. */
export const EXAMPLES = ['fastify', 'vue', 'svelte', 'assistant-ui'] as const;

/** An example, started with the command of its README: `npm run example -- <name>`, which installs, builds the library and the page, and serves it. */
export class Example {
  readonly name: string;
  readonly folder: string;
  #child: ChildProcess | undefined;

  constructor(name: (typeof EXAMPLES)[number]) {
    this.name = name;
    this.folder = join(root, 'examples', name);
  }

  /** Starts it on a free port, without a key. Resolves with the address that it prints. */
  async start(): Promise<string> {
    const { GEMINI_API_KEY: _key, NODE_ENV: _mode, ...env } = process.env;
    const child = spawn('npm', ['run', 'example', '--', this.name], {
      cwd: root,
      env: { ...env, PORT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A process group of its own, so that a signal reaches npm and the program that it runs, as Ctrl-C does.
      detached: true,
    });
    this.#child = child;
    const printed: string[] = [];
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', () => reject(new Error(`The example ended:\n${printed.join('\n')}`)));
      for (const output of [child.stdout, child.stderr]) {
        createInterface(output).on('line', (line) => {
          printed.push(line);
          const [, url] = /listens on (http:\S+)/.exec(line) ?? [];
          if (url) resolve(url);
        });
      }
    });
  }

  /** Stops the example with Ctrl-C. Resolves when no process of it is left: each holds the output open. */
  async end(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'close');
    process.kill(-child.pid, 'SIGINT');
    await closed;
  }
}

/** Sends a message, as the user of an example does. */
export async function ask(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
}
