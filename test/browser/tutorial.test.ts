import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium } from 'playwright-core';
import { build, preview } from 'vite';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { freePort } from '../../scripts/cluster/free-port.ts';
import { root } from './support/built.ts';
import { PATIENCE_MS } from './support/launch.ts';

const tutorial = readFileSync(join(root, 'docs/tutorial.md'), 'utf8');
// Inside the repository, so that the files find the packages that the tutorial installs.
mkdirSync(join(root, '.cache'), { recursive: true });
const folder = mkdtempSync(join(root, '.cache/tutorial-'));
const tsx = pathToFileURL(join(root, 'node_modules/tsx/dist/loader.mjs')).href;
let browser: Browser;

beforeAll(async () => {
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
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  // The repository's own configuration leads to the sources instead of the package.
  writeFileSync(join(folder, 'tsconfig.json'), '{ "compilerOptions": { "jsx": "react-jsx" } }');
  await build({ root: folder, logLevel: 'error' });
  browser = await chromium.connect(inject('browser'));
});

afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The server of the tutorial: started with its command, killed, and started again on the same data. */
class TutorialServer {
  readonly refunds: string[] = [];
  readonly port: number;
  readonly #data = mkdtempSync(join(folder, 'data-'));
  #child: ChildProcess | undefined;

  constructor(port: number) {
    this.port = port;
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, ['--import', tsx, 'server/main.ts'], {
      cwd: folder,
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

async function startServer(): Promise<TutorialServer> {
  const server = new TutorialServer(await freePort());
  onTestFinished(async () => void (await server.end('SIGKILL')));
  await server.start();
  return server;
}

/** The address of the page: of the server itself, or of Vite with the proxy of the tutorial. */
async function addressOf(server: TutorialServer, isProxied: boolean): Promise<string> {
  if (!isProxied) return `http://localhost:${server.port}`;
  process.env.PORT = String(server.port);
  const front = await preview({ root: folder, logLevel: 'error', preview: { port: 0, host: 'localhost' } });
  delete process.env.PORT;
  onTestFinished(() => front.close());
  return front.resolvedUrls?.local[0] ?? '';
}

test.each([
  ['bidi', false],
  ['bidi', true],
  ['sse', false],
  ['sse', true],
] as const)(
  'the tutorial ends with an approved refund, over %s, through Vite: %s',
  async (mode, isProxied) => {
    const server = await startServer();
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    await page.goto(`${await addressOf(server, isProxied)}?mode=${mode}`);

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
  },
);

test('the curl commands of the tutorial sign in and get an approval request', async () => {
  const server = await startServer();
  const commands = /^```sh\n(curl .*?)^```$/ms.exec(tutorial)?.[1] ?? '';
  const { stdout, status } = spawnSync(
    'sh',
    ['-eu', '-c', commands.replaceAll('localhost:3000', `localhost:${server.port}`)],
    { cwd: folder, encoding: 'utf8', timeout: PATIENCE_MS },
  );
  expect({ status, refunds: server.refunds }).toEqual({ status: 0, refunds: [] });
  expect(stdout).toMatch(/^\{"user":"clerk"\}.*"tool-approval-request".*\[DONE\]/s);
});
