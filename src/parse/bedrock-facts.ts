import type { Draft, Obj } from './json.ts';

/** Takes what Bedrock adds to the events of every model family, and tells whether it added anything. */
export function noteBedrock(event: Obj, body: Draft): boolean {
  let added = false;
  for (const name in event) {
    if (!name.startsWith('amazon-')) continue;
    body[name] = event[name];
    added = true;
  }
  return added;
}
