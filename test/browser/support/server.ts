import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import Database from 'libsql';
import { openSqliteStore } from '../../../src/server/sqlite/index.ts';
import { demo, root } from './built.ts';

/** Long enough for a slow machine, so that only a hang fails. */
const START_MS = 240_000;

/** The demo's server as `npm start` runs it, in a process of its own, with the embedded model. */
export class DemoServer {
  private readonly data = mkdtempSync(join(tmpdir(), 'duologue-browser-'));
  private readonly env: Record<string, string>;
  private process: ChildProcess | null = null;
  private port = 0;
  /** Everything that it printed. */
  printed = '';

  constructor(env: Record<string, string> = {}) {
    this.env = env;
  }

  get url(): string {
    return `http://localhost:${this.port}`;
  }

  /** Where it keeps its data. */
  get folder(): string {
    return this.data;
  }

  /** Starts the server, on its previous port after a restart. */
  async start(): Promise<this> {
    const child = spawn(process.execPath, [resolve(demo, 'dist/server/main.js')], {
      cwd: root,
      env: { PATH: process.env.PATH ?? '', PORT: String(this.port), DUOLOGUE_DATA: this.data, ...this.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.process = child;
    this.printed = '';
    await new Promise<void>((resolve, reject) => {
      const limit = setTimeout(
        () => reject(new Error(`The server did not start:\n${this.printed}`)),
        START_MS,
      );
      const read = (text: string) => {
        this.printed += text;
        const match = /listens on http:\/\/[^:]+:(\d+)/.exec(this.printed);
        if (!match) return;
        this.port = Number(match[1]);
        clearTimeout(limit);
        resolve();
      };
      child.stdout?.setEncoding('utf8').on('data', read);
      child.stderr?.setEncoding('utf8').on('data', read);
      child.once('exit', () => {
        clearTimeout(limit);
        reject(new Error(`The server ended:\n${this.printed}`));
      });
    });
    return this;
  }

  /** Freezes the process until `goOn`: its connections stay open, and data sent to it waits. */
  halt(): void {
    this.process?.kill('SIGSTOP');
  }

  goOn(): void {
    this.process?.kill('SIGCONT');
  }

  /** Ends the process: as Ctrl-C does, or as a crash does. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const child = this.process;
    this.process = null;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  /** Stores conversations while the server is stopped. Their messages alternate between the person and the agent. */
  async store(conversations: Readonly<Record<string, readonly string[]>>): Promise<void> {
    const store = await openSqliteStore(this.data);
    for (const [id, texts] of Object.entries(conversations)) {
      const key = { app: 'duologue', user: 'live_user', id, fence: 0 };
      await store.createSession(key, {});
      for (const [n, text] of texts.entries()) {
        const role = n % 2 === 0 ? 'user' : 'assistant';
        await store.putMessage(key, { id: `${id}-${n}`, role, parts: [{ type: 'text', text }] });
      }
    }
    await store.close();
  }

  /** The stored messages, drafts included: those that would survive a crash now. */
  stored(): string {
    const file = new Database(join(this.data, 'duologue.db'), { readonly: true });
    try {
      return JSON.stringify(file.prepare('select data from messages order by session, seq').all());
    } finally {
      file.close();
    }
  }

  /** Stops the server and removes its data. */
  async dispose(): Promise<void> {
    await this.stop('SIGKILL');
    rmSync(this.data, { recursive: true, force: true });
  }
}
