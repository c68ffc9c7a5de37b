import type { Content } from '@google/genai';

/** A request to a provider, parsed from its own format. */
export interface Asked {
  contents: Content[];
  /** The names of the tools it may call. */
  tools: string[];
  system: string;
  /** The JSON schema that the answer must have. */
  schema?: unknown;
}

/** A call in an answer. `raw` replaces its arguments by a text that may be no JSON at all. */
export interface AnsweredCall {
  id: string;
  name: string;
  args: Record<string, unknown>;
  raw?: string;
}

/** An answer of a provider. */
export interface Answer {
  thought?: string;
  text?: string;
  calls: AnsweredCall[];
  finish: 'stop' | 'length';
}

/** The kinds of errors of a provider. */
export type Trouble = 'key' | 'model' | 'rate' | 'quota' | 'overloaded';

/** What goes over the wire, in one piece. */
export type Piece = string | Uint8Array;

/** One provider's HTTP format, as strict about requests as the provider is. */
export interface Dialect {
  name: string;
  contentType: string;
  /** The environment that leads a server to a provider at this address. */
  environment(url: string, key: string): Record<string, string>;
  path: RegExp;
  /** The key that a request shows. */
  keyIn(headers: Record<string, string | string[] | undefined>): string;
  /** Reads a request; throws `Refused` when the provider would not take it. */
  read(body: Body, memory: Memory): Asked;
  /** An id for a call, as the provider makes them; empty when it makes none. */
  callId(n: number): string;
  /** The answer as a stream. The last piece ends it. */
  write(answer: Answer, memory: Memory): Piece[];
  trouble(kind: Trouble): { status: number; body: object; headers?: Record<string, string> };
  /** An error in the middle of a stream. */
  errorPiece(): Piece;
}

/** What a provider remembers between two requests. */
export interface Memory {
  items: Map<string, unknown>;
  count: number;
}

export type Body = Record<string, unknown>;

/** A request that the provider would not take. */
export class Refused extends Error {}

/** Refuses a request unless something holds. */
export function must(holds: unknown, message: string): asserts holds {
  if (!holds) throw new Refused(message);
}

/** An object, or a refusal. */
export function object(value: unknown, what: string): Body {
  must(typeof value === 'object' && value !== null && !Array.isArray(value), `${what} must be an object`);
  return value as Body;
}

/** A list of objects, or a refusal. */
export function objects(value: unknown, what: string): Body[] {
  must(Array.isArray(value), `${what} must be a list`);
  return value.map((one, index) => object(one, `${what}[${index}]`));
}

/** A text, or a refusal. */
export function string(value: unknown, what: string): string {
  must(typeof value === 'string', `${what} must be a text`);
  return value;
}

/** The object that a text of arguments is, or a refusal. */
export function args(text: unknown, what: string): Record<string, unknown> {
  try {
    return object(JSON.parse(string(text, what)), what);
  } catch (error) {
    throw error instanceof Refused ? error : new Refused(`${what} must be JSON`);
  }
}

/** What a tool returned, from the text that a provider is given: words that are no JSON are an error. */
export function response(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null
      ? (value as Record<string, unknown>)
      : { result: value };
  } catch {
    return { error: text };
  }
}

/** A text in pieces, as models write it. */
export function pieces(text: string): string[] {
  return text.match(/[\s\S]{1,4}/gu) ?? [];
}

/** Events as lines of a stream. */
export function sse(events: readonly object[], named = false): string[] {
  return events.map((event) => {
    const { type } = event as { type?: string };
    return `${named ? `event: ${type}\n` : ''}data: ${JSON.stringify(event)}\n\n`;
  });
}

/** The names of declared tools; each must have an object as its schema. */
export function toolNames(tools: { name: unknown; schema: unknown }[]): string[] {
  return tools.map(({ name, schema }, index) => {
    must(object(schema, `tools[${index}] schema`).type === 'object', `tools[${index}] must take an object`);
    must(/^[a-zA-Z0-9_-]{1,64}$/.test(string(name, `tools[${index}].name`)), `tools[${index}].name is wrong`);
    return String(name);
  });
}

/** Checks that each call is answered right behind it: in one content, every one, once, and nothing else is answered. */
export function checkAnswers(contents: readonly Content[]): void {
  const seen = new Set<string>();
  for (const [index, content] of contents.entries()) {
    const calls = (content.parts ?? []).flatMap(({ functionCall }) => functionCall?.id ?? []);
    for (const id of calls) {
      must(!seen.has(id), `call ${id} was made twice`);
      seen.add(id);
    }
    const answers = (content.parts ?? []).flatMap(({ functionResponse }) => functionResponse?.id ?? []);
    const before = (contents[index - 1]?.parts ?? []).flatMap(({ functionCall }) => functionCall?.id ?? []);
    must(
      answers.every((id) => before.includes(id)) && new Set(answers).size === answers.length,
      `answers ${answers} do not belong to calls ${before}`,
    );
    if (calls.length > 0) {
      const after = (contents[index + 1]?.parts ?? []).flatMap(
        ({ functionResponse }) => functionResponse?.id ?? [],
      );
      must(
        calls.every((id) => after.includes(id)),
        `calls ${calls} are not all answered by ${after}`,
      );
    }
  }
}
