import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts small values (AES-256-GCM) with a key that only this server, or the nodes of its cluster, know. A text that `open` accepts was made by `seal` with
 * the same key and purpose, and was not changed.
 */
export class Sealer {
  private readonly key: Buffer;

  /** `secret`: a text of at least 16 random characters. Without one, the key lasts as long as the process. */
  constructor(secret: string | undefined) {
    this.key =
      secret === undefined ? randomBytes(KEY_BYTES) : scryptSync(secret, 'duologue sign-in', KEY_BYTES);
  }

  /** Encrypts a JSON value as a text that can be part of a URL. */
  seal(purpose: string, value: unknown): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.key, nonce);
    cipher.setAAD(Buffer.from(purpose));
    const text = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url');
  }

  /** Decrypts a text of `seal`; null when the text was not made with this key and purpose. */
  open(purpose: string, sealed: unknown): unknown {
    if (typeof sealed !== 'string') return null;
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length <= NONCE_BYTES + TAG_BYTES) return null;
    const decipher = createDecipheriv(ALGORITHM, this.key, bytes.subarray(0, NONCE_BYTES));
    decipher.setAAD(Buffer.from(purpose));
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    try {
      const text = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
      return JSON.parse(Buffer.concat([text, decipher.final()]).toString('utf8')) as unknown;
    } catch {
      return null;
    }
  }
}
