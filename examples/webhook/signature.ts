import { createHmac, timingSafeEqual } from 'node:crypto';

/** How old a request may be, in seconds. A request that was recorded and is sent again later is refused. */
const WINDOW = 300;

/** What a request says of itself, in its headers. */
export interface Signed {
  /** `webhook-timestamp`: when it was signed, in seconds since 1970. */
  timestamp: string;
  /** `webhook-signature`: HMAC-SHA256 over the timestamp and the body. */
  signature: string;
}

/** Signs a body at a time, in milliseconds since 1970. */
export function sign(secret: string, body: string, now: number): Signed {
  const timestamp = String(Math.floor(now / 1000));
  return { timestamp, signature: hmac(secret, timestamp, body) };
}

/** Whether a body was signed with this secret, and not long ago. Call it with the body as it came, before it is parsed. */
export function verify(secret: string, body: string, { timestamp, signature }: Signed, now: number): boolean {
  const age = Math.abs(now / 1000 - Number(timestamp));
  if (!/^\d{1,12}$/.test(timestamp) || age > WINDOW) return false;
  const wanted = Buffer.from(hmac(secret, timestamp, body));
  const given = Buffer.from(signature);
  // A comparison that ends at the first difference would tell an attacker how much of a signature is right.
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

function hmac(secret: string, timestamp: string, body: string): string {
  return createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
}
