import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Page } from 'playwright-core';
import { root } from './built.ts';

/** The examples with a page that talks to the florist. */
export const EXAMPLES = ['fastify', 'vue', 'svelte', 'assistant-ui'] as const;

/** An example, started with its own command: `npm start` in its folder, which builds the page and serves it. */
export class Example {
  readonly folder: string;
  #child: ChildProcess | undefined;

  constructor(name: (typeof EXAMPLES)[number]) {
    this.folder = join(root, 'examples', name);
  }

  /** Starts it on a free port, without a key. Resolves with the address that it prints. */
  async start(): Promise<string> {
    const { GEMINI_API_KEY: _key, NODE_ENV: _mode, ...env } = process.env;
    const child = spawn('npm', ['start'], {
      cwd: this.folder,
      env: { ...env, PORT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A process group of its own: npm, its shell and the server end together.
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

  /** Stops the processes of the example. */
  async end(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    process.kill(-child.pid, 'SIGKILL');
    await exit;
  }
}

/** Sends a message, as the user of an example does. */
export async function ask(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
}
