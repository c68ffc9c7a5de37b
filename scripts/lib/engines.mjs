import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { aptInstall, canUseApt, missingPackages } from './apt.mjs';
import { isExecutable } from './find-browser.mjs';
import { announced } from './run.mjs';

const debian = '/usr/lib/postgresql';
const onPath = () => (process.env.PATH ?? '').split(delimiter);
const hasAll = (folder, commands) => commands.every((command) => isExecutable(join(folder, command)));

/**
 * Required servers, with their Debian packages and the variables that hold the address of a running one. An engine without a variable for a purpose
 * is not needed for it.
 */
const engines = [
  {
    name: 'PostgreSQL',
    package: 'postgresql',
    given: { run: 'DATABASE_URL', test: 'DUOLOGUE_TEST_POSTGRES' },
    commands: 'initdb, postgres and pg_ctl',
    isThere: () => {
      const versions = existsSync(debian)
        ? readdirSync(debian).map((version) => join(debian, version, 'bin'))
        : [];
      return [...onPath(), ...versions].some((folder) => hasAll(folder, ['initdb', 'postgres', 'pg_ctl']));
    },
  },
  {
    name: 'Redis',
    package: 'redis-server',
    given: { run: 'REDIS_URL', test: 'DUOLOGUE_TEST_REDIS' },
    commands: 'redis-server (or valkey-server)',
    isThere: () =>
      onPath().some((folder) => hasAll(folder, ['redis-server']) || hasAll(folder, ['valkey-server'])),
  },
  {
    name: 'PgBouncer',
    package: 'pgbouncer',
    given: { test: 'DUOLOGUE_TEST_POSTGRES' },
    commands: 'pgbouncer',
    isThere: () => [...onPath(), '/usr/sbin'].some((folder) => hasAll(folder, ['pgbouncer'])),
  },
];

const listed = (names) => new Intl.ListFormat('en').format(names);

/**
 * Finds the engines that several nodes need, and installs them where no user has to confirm that (Debian, as root). An engine whose address the environment
 * names is not needed here; tests have their own variables, so that they never write to a database with real sessions.
 */
export async function ensureEngines(purpose) {
  const used = engines.filter(({ given }) => given[purpose] !== undefined);
  const needed = used.filter(({ given }) => !process.env[given[purpose]]);
  const missing = () => needed.filter(({ isThere }) => !isThere());
  if (missing().length > 0 && canUseApt()) {
    const wanted = await missingPackages(missing().map((engine) => engine.package));
    console.log(`installing ${wanted.join(', ')} with apt-get`);
    const { result } = await announced('installing the engines', () => aptInstall(wanted));
    if (missing().length > 0) {
      const names = listed(missing().map(({ name }) => name));
      return {
        ok: false,
        note: `apt-get did not bring ${names}`,
        output: `${result.output}\n${advice(missing())}`,
      };
    }
  }
  if (missing().length === 0) return { ok: true, note: listed(used.map(({ name }) => name)) };
  const names = listed(missing().map(({ name }) => name));
  return { ok: false, note: `${names} not found`, output: advice(missing()) };
}

/** Instructions for installing missing engines. */
function advice(missing) {
  const packages = missing.map((engine) => engine.package).join(' ');
  return [
    `Several nodes need ${listed(missing.map(({ name }) => name))}: installed but not started, they are started here.`,
    `  Debian, Ubuntu (as root):  apt-get update && apt-get install -y ${packages}`,
    `  macOS:                     brew install ${missing.map(({ name }) => name.toLowerCase()).join(' ')}`,
    `  elsewhere:                 on the PATH: ${missing.map(({ commands }) => commands).join('; ')}`,
  ].join('\n');
}
