import { writeFileSync } from 'node:fs';

/**
 * Runs in the server's process before the server: no connection leaves this machine, and a thread that gets a job dies in the middle of
 * it if the file says so: `listening`, `speaking`, or nothing.
 */
const SCRIPT = `
  import { readFileSync } from 'node:fs';
  import net from 'node:net';
  import { Worker } from 'node:worker_threads';

  const { connect } = net.Socket.prototype;
  net.Socket.prototype.connect = function (...args) {
    const [options] = Array.isArray(args[0]) ? args[0] : args;
    const host = options?.host ?? 'localhost';
    if (/^(localhost|127\\.0\\.0\\.1|::1)$/.test(host)) return connect.apply(this, args);
    console.error('WENT OUTSIDE: ' + host);
    return this.destroy(new Error('There is no network.'));
  };

  const { postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function (...args) {
    postMessage.apply(this, args);
    const doomed = readFileSync(process.env.TEST_ACCIDENTS, 'utf8');
    if (doomed === 'listening' && args[0] instanceof Int16Array) this.terminate();
    if (doomed === 'speaking' && typeof args[0] === 'string') this.once('message', () => this.terminate());
  };
`;

/** What can happen to a server of the demo: it has no network, and threads of its voice die. */
export class Accidents {
  private readonly file: string;

  constructor(file: string) {
    this.file = file;
    this.happen(null);
  }

  /** For the server's environment. */
  get environment(): Record<string, string> {
    return {
      NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(SCRIPT)}`,
      TEST_ACCIDENTS: this.file,
      npm_config_registry: 'http://127.0.0.1:9/',
    };
  }

  /** From now on threads die while they do this. */
  happen(when: 'listening' | 'speaking' | null): void {
    writeFileSync(this.file, when ?? '');
  }
}
