import { type Draft, type Obj, obj } from './json.ts';
import { merge } from './merge.ts';

const JOINED = /^(text|thinking)$/;

/** Typed parts as the whole response has them: neighbouring texts are one, and so are neighbouring thoughts. */
export function mergeParts(parts: readonly unknown[]): Obj[] {
  const merged: Draft[] = [];
  for (const entry of parts) {
    const part = typeof entry === 'string' ? { type: 'text', text: entry } : obj(entry);
    const last = merged.at(-1);
    if (last?.type === part.type && JOINED.test(String(part.type))) merge(last as Draft, part);
    else merged.push(merge({}, part));
  }
  return merged;
}
