import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium } from 'playwright-core';
import { build, preview } from 'vite';
import { afterAll, beforeAll, expect, inject, onTestFinished } from 'vitest';
import { freePort } from '../../../scripts/cluster/free-port.ts';
import { root } from './built.ts';
import { TIMEOUT_MS } from './launch.ts';

/** The text of the tutorial. */
export const tutorial = readFileSync(join(root, 'docs/tutorial.md'), 'utf8');
const tsx = pathToFileURL(join(root, 'node_modules/tsx/dist/loader.mjs')).href;

/** The server of the tutorial: started with its command, killed, and started again on the same data. */
export class TutorialServer {
  readonly refunds: string[] = [];
  readonly port: number;
  readonly #folder: string;
  readonly #data: string;
  #child: ChildProcess | undefined;

  constructor(folder: string, port: number) {
    this.port = port;
    this.#folder = folder;
    this.#data = mkdtempSync(join(folder, 'data-'));
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, ['--import', tsx, 'server/main.ts'], {
      cwd: this.#folder,
      env: {
        PATH: process.env.PATH ?? '',
        PORT: String(this.port),
        DATA: this.#data,
        PASSWORD: 'open-sesame',
        SECRET: 'at-least-16-characters',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#child = child;
    const lines = createInterface(child.stdout);
    const listening = new Promise<void>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`The server of the tutorial ended with ${code}.`)));
      lines.on('line', (line) => {
        if (line.startsWith('refund ')) this.refunds.push(line.replace(/\(.*\)/, ''));
        if (line.startsWith('listening')) resolve();
      });
    });
    await listening;
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return null;
    const exit = once(child, 'exit');
    child.kill(signal);
    const [code] = (await exit) as [number | null];
    return code;
  }
}

/** The files of the tutorial, built in a folder of their own for one test file, and the browser. */
export class TutorialStage {
  readonly folder: string;
  #browser: Browser | undefined;

  constructor() {
    // Inside the repository, so that the files find the packages that the tutorial installs.
    mkdirSync(join(root, '.cache'), { recursive: true });
    this.folder = mkdtempSync(join(root, '.cache/tutorial-'));
    beforeAll(() => this.#build());
    afterAll(async () => {
      await this.#browser?.close();
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  async #build(): Promise<void> {
    const files = [...tutorial.matchAll(/^```(?:tsx?|html)\n(?:\/\/|<!--) file: (\S+)[^\n]*\n(.*?)^```$/gms)];
    expect(files.map(([, name]) => name)).toEqual([
      'server/agent.ts',
      'server/refund-rule.ts',
      'server/sign-in.ts',
      'server/main.ts',
      'page/chat.tsx',
      'page/main.tsx',
      'index.html',
      'vite.config.ts',
    ]);
    for (const [, name = '', text = ''] of files) {
      mkdirSync(dirname(join(this.folder, name)), { recursive: true });
      writeFileSync(join(this.folder, name), text);
    }
    // The repository's own configuration leads to the sources instead of the package.
    writeFileSync(join(this.folder, 'tsconfig.json'), '{ "compilerOptions": { "jsx": "react-jsx" } }');
    await build({ root: this.folder, logLevel: 'error' });
    this.#browser = await chromium.connect(inject('browser'));
  }

  /** Starts a server that ends with the test. */
  async startServer(): Promise<TutorialServer> {
    const server = new TutorialServer(this.folder, await freePort());
    onTestFinished(async () => void (await server.end('SIGKILL')));
    await server.start();
    return server;
  }

  /** The address of the page: of the server itself, or of Vite with the proxy of the tutorial. */
  async #addressOf(server: TutorialServer, isProxied: boolean): Promise<string> {
    if (!isProxied) return `http://localhost:${server.port}`;
    process.env.PORT = String(server.port);
    const front = await preview({
      root: this.folder,
      logLevel: 'error',
      preview: { port: 0, host: 'localhost' },
    });
    delete process.env.PORT;
    onTestFinished(() => front.close());
    return front.resolvedUrls?.local[0] ?? '';
  }

  /** Follows the tutorial in the page: sign-in, an approved refund over a crash of the server, a denied refund, sign-out. */
  async follow(mode: 'sse' | 'bidi', isProxied: boolean): Promise<void> {
    if (!this.#browser) throw new Error('The browser has not started.');
    const server = await this.startServer();
    const context = await this.#browser.newContext();
    onTestFinished(() => context.close());
    context.setDefaultTimeout(TIMEOUT_MS);
    const page = await context.newPage();
    await page.goto(`${await this.#addressOf(server, isProxied)}?mode=${mode}`);

    const signIn = async (password: string) => {
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in' }).click();
    };
    const ask = async (text: string) => {
      await page.getByLabel('Message').fill(text);
      await page.getByRole('button', { name: 'Send' }).click();
    };
    const [refused] = await Promise.all([page.waitForResponse('**/api/sign-in'), signIn('wrong')]);
    expect(refused.status()).toBe(401);
    await signIn('open-sesame');

    await ask('Refund Ann $30');
    await page.getByText('refund {"customer":"Ann","amount":30}').waitFor();
    expect(server.refunds).toEqual([]);
    await server.end('SIGKILL');
    await page.getByText(`${mode} reconnecting`).waitFor();
    await server.start();
    await page.getByText(`${mode} live`).waitFor();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('Ann gets $30 back.').waitFor();
    expect(server.refunds).toEqual(['refund 30 to Ann ']);

    await page.reload();
    await page.getByText('Ann gets $30 back.').waitFor();
    await ask('Refund Bob $20');
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByText(/was denied \(not now\)/).waitFor();
    expect(server.refunds).toEqual(['refund 30 to Ann ']);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Password').waitFor();
    expect(await page.evaluate(async () => (await fetch('/api/chat/sessions')).status)).toBe(401);
    expect(await server.end('SIGTERM')).toBe(0);
  }
}
