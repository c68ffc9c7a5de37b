import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DemoServer } from '../../../browser/support/server.ts';

/** The demo's server with its voice, fetched from the registry as on a new user's machine. */
export class VoiceServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'voice-'));
  readonly server = new DemoServer({
    DUOLOGUE_DATA: this.folder,
    // As npm fetches: the same registry, trusted in the same way.
    ...named('npm_config_registry', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'),
  });

  get url(): string {
    return this.server.url;
  }

  /** Starts, and tells every state that the server said while it fetched. */
  async start(): Promise<{ status: string; message?: string }[]> {
    await this.server.start();
    const states = [await this.ask('GET'), await this.ask('POST')];
    while (states.at(-1)?.status === 'fetching') {
      await new Promise((resolve) => setTimeout(resolve, 500));
      states.push(await this.ask('GET'));
    }
    return states;
  }

  /** Starts anew: no thread of before is left. */
  async restart(): Promise<void> {
    await this.server.stop();
    await this.server.start();
  }

  async dispose(): Promise<void> {
    await this.server.dispose();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async ask(method: string): Promise<{ status: string; message?: string }> {
    return (await fetch(`${this.url}/voice`, { method })).json();
  }
}

function named(...names: string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}
