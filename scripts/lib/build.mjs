import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { root, tool } from './run.mjs';

function filesUnder(path) {
  const start = resolve(root, path);
  if (!existsSync(start)) return [];
  if (statSync(start).isFile()) return [start];
  return readdirSync(start, { withFileTypes: true })
    .filter((entry) => entry.name !== 'node_modules' && entry.name !== 'dist' && !entry.name.startsWith('.'))
    .flatMap((entry) => filesUnder(join(start, entry.name)))
    .sort();
}

/** One hash over the content of all inputs: file times are wrong after a checkout. */
function fingerprint(inputs) {
  const hash = createHash('sha256');
  for (const file of inputs.flatMap(filesUnder)) {
    hash
      .update(relative(root, file).split(sep).join('/'))
      .update('\0')
      .update(readFileSync(file))
      .update('\0');
  }
  return hash.digest('hex');
}

/** Removes compiled files whose source is gone, so that a deleted module cannot be imported any longer. */
function removeOrphans(outDir, sourceDir) {
  for (const file of filesUnderOutput(outDir)) {
    const base = file.replace(/\.(d\.ts|js)(\.map)?$/, '');
    if (base === file) continue;
    const source = resolve(root, sourceDir, relative(resolve(root, outDir), base));
    if (!['.ts', '.tsx'].some((ending) => existsSync(source + ending))) rmSync(file);
  }
}

function filesUnderOutput(outDir) {
  return readdirSync(resolve(root, outDir), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

/** Puts a Brotli and a gzip copy beside every file that becomes smaller by it, so that the server need not compress while it serves. */
async function compress(outDir) {
  const texts = filesUnderOutput(outDir).filter((file) => /\.(html|js|css|svg)$/.test(file));
  for (const file of texts) {
    const bytes = await readFile(file);
    const copies = await Promise.all([
      promisify(brotliCompress)(bytes).then((copy) => ['.br', copy]),
      promisify(gzip)(bytes, { level: 9 }).then((copy) => ['.gz', copy]),
    ]);
    for (const [ending, copy] of copies) {
      if (copy.length < bytes.length) await writeFile(file + ending, copy);
    }
  }
}

const shared = ['package-lock.json', 'tsconfig.json', 'scripts/lib/build.mjs'];

/** The parts of the build, in order. Each is built only when one of its inputs has changed. */
const parts = [
  {
    name: 'library',
    when: () => true,
    inputs: ['src', 'tsconfig.build.json', ...shared],
    output: 'dist',
    async build() {
      const result = await tool('typescript/bin/tsc', ['-p', 'tsconfig.build.json'], {
        timeoutMs: 5 * 60_000,
      });
      if (result.code === 0) removeOrphans('dist', 'src');
      return result;
    },
  },
  {
    name: 'demo server',
    when: () => existsSync(resolve(root, 'demo/server/main.ts')),
    // The library's types are an input of the demo's compilation.
    inputs: ['demo/server', 'demo/tools', 'tsconfig.demo.json', 'tsconfig.build.json', 'src', ...shared],
    output: 'demo/dist',
    async build() {
      const result = await tool('typescript/bin/tsc', ['-p', 'tsconfig.demo.json'], {
        timeoutMs: 5 * 60_000,
      });
      if (result.code === 0) removeOrphans('demo/dist', 'demo');
      return result;
    },
  },
  {
    name: 'web app',
    when: () => existsSync(resolve(root, 'demo/web/index.html')),
    inputs: [
      'demo/web',
      'demo/tools',
      'demo/package.json',
      'src/protocol',
      'src/client',
      'src/react',
      // The inspector of the page shows the rules of this document.
      'PROTOCOL.md',
      ...shared,
    ],
    output: 'demo/web/dist',
    async build() {
      const result = await tool('vite/bin/vite.js', ['build'], {
        cwd: resolve(root, 'demo/web'),
        // Set here because a test runner's NODE_ENV would select the development build of React.
        env: { NODE_ENV: 'production' },
        timeoutMs: 5 * 60_000,
      });
      if (result.code === 0) await compress('demo/web/dist');
      return result;
    },
  },
];

/** Builds every part that is out of date, or only those with the given names; `announce` may print progress while a part is built. */
export async function build(announce = (_name, work) => work(), names = parts.map(({ name }) => name)) {
  const built = [];
  for (const part of parts) {
    if (!names.includes(part.name) || !part.when()) continue;
    const stamp = resolve(root, part.output, '.stamp');
    const now = fingerprint(part.inputs);
    if (existsSync(stamp) && readFileSync(stamp, 'utf8') === now) continue;
    // A failed build must not leave a stamp that says it is up to date.
    rmSync(stamp, { force: true });
    const result = await announce(part.name, () => part.build());
    if (result.code !== 0) return { ok: false, note: `${part.name} failed`, output: result.output };
    mkdirSync(dirname(stamp), { recursive: true });
    writeFileSync(stamp, now);
    built.push(part.name);
  }
  return { ok: true, note: built.length === 0 ? 'up to date' : built.join(', ') };
}
