import { ProtocolError } from '../../protocol/index.ts';
import type { HeldBytes } from '../access/byte-budget.ts';
import type { Clock } from '../clock.ts';
import { LARGE_JSON, type LargeJson } from '../large-json.ts';

/** What a body is read with. */
export interface BodyLimits {
  maxBytes: number;
  /** How long it may take to arrive. */
  arrivalMs: number;
  /** Its bytes count as they come; whoever opened the account empties it. */
  held: HeldBytes;
  clock: Clock;
  large: LargeJson;
}

/** Reads a JSON body within limits. */
export async function readJson(request: Request, limits: BodyLimits): Promise<Record<string, unknown>> {
  const type = request.headers.get('content-type') ?? '';
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(type)) {
    throw new ProtocolError('unsupported_media', 'Send the body as application/json.');
  }
  const bytes = await readBytes(request, limits);
  let value: unknown;
  try {
    value =
      bytes.byteLength > LARGE_JSON
        ? await limits.large.parse(bytes)
        : JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    throw new ProtocolError('bad_json', 'The body is not valid JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ProtocolError('bad_request', 'The body must be a JSON object.');
  }
  return value as Record<string, unknown>;
}

async function readBytes(request: Request, limits: BodyLimits): Promise<Buffer> {
  const { maxBytes, arrivalMs, held, clock } = limits;
  const tooLarge = () =>
    new ProtocolError('too_large', `The body is larger than ${Math.floor(maxBytes / 1024 / 1024)} MB.`);
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge();
  if (!request.body) return Buffer.alloc(0);
  const reader = request.body.getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  let isLate = false;
  const cancel = clock.after(arrivalMs, () => {
    isLate = true;
    reader.cancel().catch(() => undefined);
  });
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      size += next.value.byteLength;
      if (size > maxBytes) throw tooLarge();
      held.add(next.value.byteLength);
      pieces.push(next.value);
    }
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    if (!isLate) throw new ProtocolError('bad_request', 'The body did not arrive whole.');
  } finally {
    cancel();
  }
  if (isLate) throw new ProtocolError('idle', 'The body took too long to arrive.');
  return Buffer.concat(pieces, size);
}
