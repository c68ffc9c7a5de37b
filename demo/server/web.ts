import { createReadStream, existsSync, statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, normalize, relative, sep } from 'node:path';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.wav': 'audio/wav',
  '.mp3': 'audio/mpeg',
  '.wasm': 'application/wasm',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};

/**
 * The content security policy. A site that shows the page in a frame could trick a user into approving a call by a click
 * meant for something else, so no site may. Inline styles are allowed, because components use them; WebAssembly, workers
 * and worklets must be our own.
 */
const PAGE: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'self'",
    "script-src 'self' 'wasm-unsafe-eval'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "media-src 'self' data: blob:",
    "font-src 'self' data:",
    "worker-src 'self'",
    "frame-src 'none'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  // For browsers that do not know `frame-ancestors`.
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'permissions-policy': 'microphone=(self), camera=(self), geolocation=(self), display-capture=(self)',
};

/** Serves the files of the built web app. A path without a file gets the page of the app, or 404 if it ends like a file name. */
export function webApp(folder: string): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    response.setHeader('x-content-type-options', 'nosniff');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(404, PAGE).end();
      return;
    }
    const path = decodePath(request.url ?? '/');
    const wanted = path === null ? null : join(folder, normalize(path));
    const isInside = wanted !== null && (wanted === folder || wanted.startsWith(folder + sep));
    if (!isInside || wanted === null) {
      response.writeHead(404, PAGE).end();
      return;
    }
    const file = isFile(wanted) ? wanted : extname(wanted) === '' ? join(folder, 'index.html') : null;
    if (file === null || !existsSync(file)) {
      response.writeHead(404, { ...PAGE, 'content-type': 'text/plain' }).end('Not found');
      return;
    }
    const isHashed = relative(folder, file).startsWith(`assets${sep}`);
    const { path: sent, encoding } = copyFor(file, String(request.headers['accept-encoding'] ?? ''));
    response.writeHead(200, {
      // Files with a hash in their name get no security headers: the page has them, and they would be longer than some files.
      ...(isHashed ? {} : PAGE),
      'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
      'content-length': statSync(sent).size,
      'cache-control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
      vary: 'accept-encoding',
      ...(encoding === null ? {} : { 'content-encoding': encoding }),
    });
    if (request.method === 'HEAD') response.end();
    else
      createReadStream(sent)
        .on('error', () => response.destroy())
        .pipe(response);
  };
}

/** The compressed copies that the build puts beside a file, the smallest first. */
const COPIES = [
  { encoding: 'br', ending: '.br' },
  { encoding: 'gzip', ending: '.gz' },
] as const;

/** The smallest copy of a file that the browser accepts; the file itself when there is none. */
function copyFor(file: string, accepted: string): { path: string; encoding: string | null } {
  const names = accepted
    .split(',')
    .map((one) => one.trim().toLowerCase())
    .filter((one) => !/;\s*q=0(\.0*)?$/.test(one))
    .map((one) => one.replace(/\s*;.*/, ''));
  for (const { encoding, ending } of COPIES) {
    if (names.includes(encoding) && isFile(file + ending)) return { path: file + ending, encoding };
  }
  return { path: file, encoding: null };
}

function decodePath(url: string): string | null {
  try {
    const path = decodeURIComponent(new URL(url, 'http://localhost').pathname);
    return path.includes('\0') ? null : path;
  } catch {
    return null;
  }
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile();
}
