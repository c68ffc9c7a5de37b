import { randomBytes } from 'node:crypto';

/** A new id for a call of a live run, in the form that Gemini's live models use. */
export function newCallId(): string {
  return `function-call-${randomBytes(8).readBigUInt64BE().toString().padStart(20, '0')}`;
}
