import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's root folder. */
export const root = resolve(fileURLToPath(new URL('../..', import.meta.url)));

const ownGroup = process.platform !== 'win32';

/** Ends a child and everything it started. */
function end(child, signal) {
  if (child.pid === undefined) return;
  try {
    if (ownGroup) process.kill(-child.pid, signal);
    else spawn('taskkill', ['/pid', String(child.pid), '/T', '/F'], { stdio: 'ignore' });
  } catch {
    // ESRCH: nothing of the group is left.
  }
}

/**
 * Runs a command to its end, bounded in time (`timeoutMs`, unless it is a server), without standard input, and leaves no process behind.
 * Its output is shown as it comes (`show`) or returned. While it runs, a signal to us ends it and then us.
 */
export function run(command, args, { cwd = root, env = {}, timeoutMs, show = false }) {
  return new Promise((done) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', show ? 'inherit' : 'pipe', show ? 'inherit' : 'pipe'],
      detached: ownGroup,
      windowsHide: true,
    });
    let output = '';
    let timedOut = false;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }

    const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };
    const onSignal = (signal) => {
      end(child, signal);
      // A child that ignores the signal must not outlive us.
      setTimeout(() => end(child, 'SIGKILL'), 2_000).unref();
      child.once('exit', () => process.exit(signals[signal]));
    };
    for (const signal of Object.keys(signals)) process.once(signal, onSignal);

    const stop = () => {
      timedOut = true;
      output += `\nstopped: still running after ${timeoutMs / 1000} s\n`;
      end(child, 'SIGTERM');
      setTimeout(() => end(child, 'SIGKILL'), 5_000).unref();
    };
    const limit = timeoutMs === undefined ? undefined : setTimeout(stop, timeoutMs);

    let settled = false;
    const settle = (code) => {
      if (settled) return;
      settled = true;
      clearTimeout(limit);
      for (const signal of Object.keys(signals)) process.removeListener(signal, onSignal);
      done({ code: timedOut ? 124 : code, output, timedOut });
    };
    child.once('error', (error) => {
      output += `${command}: ${error.message}\n`;
      settle(127);
    });
    child.once('close', (code) => settle(code ?? 1));
    child.once('exit', (code) => {
      end(child, 'SIGKILL');
      // A process that left the group may still hold the pipes open; what it prints later does not matter.
      setTimeout(() => settle(code ?? 1), 1_000).unref();
    });
  });
}

/** Runs the npm that started us, without a shell. */
export function npm(args, options) {
  const cli = process.env.npm_execpath;
  if (cli?.endsWith('.js') || cli?.endsWith('.cjs')) return run(process.execPath, [cli, ...args], options);
  return process.platform === 'win32'
    ? run(process.env.ComSpec ?? 'cmd.exe', ['/d', '/s', '/c', 'npm', ...args], options)
    : run('npm', args, options);
}

/** Runs a tool of node_modules by its JavaScript file, so that no shell or .cmd shim is involved. */
export function tool(path, args, options) {
  return run(process.execPath, [resolve(root, 'node_modules', path), ...args], options);
}

/**
 * Ends this process when the shell between npm and this process has ended. npm signals only that shell, and some shells
 * die without forwarding the signal.
 */
export function endWithNpm() {
  const shell = process.ppid;
  if (process.env.npm_lifecycle_event === undefined || process.platform === 'win32') return;
  setInterval(() => {
    if (process.ppid !== shell) process.kill(process.pid, 'SIGTERM');
  }, 500).unref();
}

/** Prints that a step is still running after one second, and then every ten seconds. */
export async function announced(label, work) {
  const started = performance.now();
  const seconds = () => ((performance.now() - started) / 1000).toFixed(1);
  let again;
  const first = setTimeout(() => {
    console.log(`${label} ...`);
    again = setInterval(() => console.log(`${label} ... ${Math.round(Number(seconds()))} s`), 10_000);
  }, 1_000);
  try {
    const result = await work();
    return { result, seconds: seconds() };
  } finally {
    clearTimeout(first);
    clearInterval(again);
  }
}
