import { createReadStream } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { hasPart } from './fetch-part.ts';
import type { FetchedParts } from './fetched-parts.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const FILES = '/voice/files/';
const TYPES: Readonly<Record<string, string>> = { '.mjs': 'text/javascript', '.wasm': 'application/wasm' };

/** Serves the downloaded VAD files for the page. Their paths contain versions, so they never change. Other requests go to the next handler. */
export function detectorFiles(detector: FetchedParts, folder: string, next: Handler): Handler {
  return (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    if (!pathname.startsWith(FILES)) return next(request, response);
    const name = pathname.slice(FILES.length);
    const part = detector.parts.find((one) => name.startsWith(`${one.name}/`));
    const file = part ? name.slice(part.name.length + 1) : '';
    const length = part?.files[file];
    if (!part || length === undefined || !hasPart(part, folder)) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found');
      return;
    }
    response.writeHead(200, {
      'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
      'content-length': length,
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    });
    createReadStream(join(folder, part.name, file))
      .on('error', () => response.destroy())
      .pipe(response);
  };
}
