import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Load } from './load.ts';
import type { Order, Report } from './server-process.ts';
import type { Variant } from './variants.ts';

/** The resources that an exchange used on the server. */
export interface Cost {
  cpuUs: number;
  rssMiB: number;
  /** The time at which the model emitted each delta of each stream. */
  emitted: Float64Array[];
}

/** The server of a variant, in its own process. */
export class Served {
  readonly variant: Variant;
  readonly port: number;
  private readonly child: ChildProcess;

  private constructor(variant: Variant, child: ChildProcess, port: number) {
    this.variant = variant;
    this.child = child;
    this.port = port;
  }

  static async start(variant: Variant): Promise<Served> {
    const script = fileURLToPath(new URL('./server-process.ts', import.meta.url));
    const child = fork(script, [variant.server, variant.build ?? ''], {
      execArgv: ['--import', 'tsx', '--expose-gc'],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: {
        ...process.env,
        NODE_ENV: 'production',
        ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS: 'false',
        COPILOTKIT_TELEMETRY_DISABLED: 'true',
        DO_NOT_TRACK: '1',
      },
    });
    const { port } = await reportOf(child, variant.name, 'listening');
    return new Served(variant, child, port);
  }

  async begin(load: Load, isProfiled = false): Promise<void> {
    this.order({ type: 'begin', load, isProfiled });
    await reportOf(this.child, this.variant.name, 'begun');
  }

  async end(profile: string | null = null): Promise<Cost> {
    this.order({ type: 'end', profile });
    return reportOf(this.child, this.variant.name, 'ended');
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.disconnect();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 3000);
    await gone;
    clearTimeout(timer);
  }

  private order(order: Order): void {
    this.child.send(order);
  }
}

/** The next report of that kind; fails when the process ends instead. */
function reportOf<T extends Report['type']>(
  child: ChildProcess,
  name: string,
  type: T,
): Promise<Extract<Report, { type: T }>> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      child.off('message', onMessage);
      child.off('exit', onExit);
      act();
    };
    const onMessage = (report: Report): void => {
      if (report.type === type) settle(() => resolve(report as Extract<Report, { type: T }>));
    };
    const onExit = (code: number | null): void =>
      settle(() => reject(new Error(`The server of "${name}" ended (${code}).`)));
    child.on('message', onMessage);
    child.on('exit', onExit);
  });
}
