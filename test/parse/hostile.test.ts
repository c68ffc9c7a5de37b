import { readdirSync, readFileSync } from 'node:fs';
import {
  createAccumulator,
  type ParsedResponse,
  parse,
  parseProviderResponse,
  parseStream,
} from 'duologue/parse';
import { usageOf } from 'duologue/parse/pieces';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const dir = new URL('../../fixtures/responses/', import.meta.url);
const responses: unknown[] = readdirSync(dir)
  .filter((name) => name.endsWith('.json'))
  .map((name) => JSON.parse(readFileSync(new URL(name, dir), 'utf8')).response);

function countsOf(record: ParsedResponse): unknown[] {
  if (record.usage === null) return [];
  const { reported, billed, modality, source: _, serverTools: __, iterations: ___, ...counts } = record.usage;
  return [counts, reported, billed, modality?.input, modality?.output].flatMap((group) =>
    Object.values(group ?? {}),
  );
}

/** What holds for every record, whatever came in. */
function check(record: ParsedResponse): void {
  const sound =
    typeof record.text === 'string' &&
    Array.isArray(record.content) &&
    record.error?.code !== 'unreadable' &&
    (record.api !== null || record.error !== null) &&
    record.toolUses.every((use) => use.id !== '' && typeof use.name === 'string') &&
    countsOf(record).every((count) => count === null || (Number.isFinite(count) && Number(count) >= 0));
  if (!sound) expect(record).toBe('a sound record');
}

/** How often the `index` or `id` of an object that the parser made is read: finding a call takes one of them. */
function readsWhile(work: () => void): number {
  let reads = 0;
  for (const name of ['index', 'id']) {
    const values = new WeakMap<object, unknown>();
    Object.defineProperty(Object.prototype, name, {
      configurable: true,
      get(this: object) {
        reads += 1;
        return values.get(this);
      },
      set(this: object, value: unknown) {
        values.set(this, value);
      },
    });
  }
  try {
    work();
  } finally {
    for (const name of ['index', 'id']) Reflect.deleteProperty(Object.prototype, name);
  }
  return reads;
}

const bad = [
  null,
  undefined,
  0,
  Number.NaN,
  -1,
  Number.POSITIVE_INFINITY,
  '',
  'text',
  true,
  [],
  {},
  [[]],
  [null],
  { a: 1 },
];

/** Every place in a value, with each bad value put there. */
function* mutations(
  value: unknown,
  rebuild: (inner: unknown) => unknown = (inner) => inner,
): Generator<unknown> {
  for (const other of bad) yield rebuild(other);
  if (Array.isArray(value)) {
    for (const [i, entry] of value.entries())
      yield* mutations(entry, (inner) => rebuild(value.with(i, inner)));
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, entry] of Object.entries(value))
      yield* mutations(entry, (inner) => rebuild({ ...value, [key]: inner }));
  }
}

describe('input that is not a response', () => {
  it.each([
    ['nothing', undefined, 'empty'],
    ['null', null, 'empty'],
    ['a number', 42, 'not_json'],
    ['an empty text', '', 'empty'],
    ['blanks', ' \n ', 'empty'],
    ['an empty object', {}, 'unknown_shape'],
    ['an empty list', [], 'empty'],
    ['an HTML page', '<!doctype html><h1>502 Bad Gateway</h1>', 'unknown_shape'],
    ['truncated JSON', '{"id":"chatcmpl-1","choices":[{"mess', 'not_json'],
    ['an unknown object', { hello: 'world' }, 'unknown_shape'],
    [
      'an embedding',
      {
        object: 'list',
        data: [{ object: 'embedding', embedding: [0.1] }],
        model: 'e',
        usage: { prompt_tokens: 3, total_tokens: 3 },
      },
      'unknown_shape',
    ],
    ['a reranking', { results: [{ index: 0, relevanceScore: 0.5 }] }, 'unknown_shape'],
    ['a Titan embedding', { embedding: [0.1], inputTextTokenCount: 3 }, 'unknown_shape'],
  ])('%s gives an error, never an empty success', (_, input, code) => {
    const record = parse(input);
    check(record);
    expect(record).toMatchObject({ api: null, finish: 'error', usage: null, complete: false });
    expect(record.error).toMatchObject({ type: 'unrecognized_response', code });
    expect(parseProviderResponse('openai', input)).toMatchObject({
      output: null,
      input_tokens: null,
      output_tokens: null,
    });
  });

  it('keeps the HTTP status and the retry header of an error page', () => {
    const record = parse('<html>', { status: 503, headers: { 'Retry-After': '7' } });
    expect(record.error).toMatchObject({ status: 503, retryAfterMs: 7000 });
  });
});

describe('hostile input', () => {
  it('any wrong type in any field never throws and never invents a count', () => {
    let seen = 0;
    for (const response of responses) {
      for (const mutant of mutations(response)) {
        check(parse(mutant));
        seen++;
      }
    }
    expect(seen).toBeGreaterThan(20_000);
  });

  it('any JSON value at all never throws', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => check(parse(value))),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (text) => check(parse(text))),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => check(parse(bytes))),
      { numRuns: 500 },
    );
  });

  it('events of different APIs in any order never throw', () => {
    const events = responses.flatMap((response) => (Array.isArray(response) ? response : [response]));
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...events), { maxLength: 30 }), (some) => check(parse(some))),
      { numRuns: 300 },
    );
  });

  it('the input is never changed', () => {
    const freeze = (value: unknown): unknown => {
      if (typeof value === 'object' && value !== null)
        for (const inner of Object.values(Object.freeze(value))) freeze(inner);
      return value;
    };
    for (const response of responses) {
      const before = JSON.stringify(response);
      check(parse(freeze(structuredClone(response))));
      expect(JSON.stringify(response)).toBe(before);
    }
  });

  it('unknown fields and the order of keys change nothing', () => {
    const shuffle = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(shuffle);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([key, inner]) => [key, shuffle(inner)]),
      );
    };
    const bare = (record: ParsedResponse) =>
      JSON.stringify(shuffle({ ...record, content: record.content.map((p) => ({ ...p, raw: 0 })) }));
    for (const response of responses) {
      const record = parse(response);
      expect(parse(shuffle(response))).toEqual(record);
      if (Array.isArray(response) || record.api === null) continue;
      expect(bare(parse({ ...(response as object), zzz_new: { a: [1] } }))).toBe(bare(record));
    }
  });

  it('__proto__ keys pollute nothing', () => {
    const text =
      '{"__proto__":{"polluted":1},"candidates":[{"__proto__":{"polluted":1},"content":{"parts":[{"functionCall":{"name":"f","willContinue":true,"partialArgs":[{"jsonPath":"$.__proto__.polluted","numberValue":1},{"jsonPath":"$.a.__proto__","numberValue":1}]}}]},"finishReason":"STOP"}],"usageMetadata":{"__proto__":{"polluted":1},"promptTokensDetails":[{"modality":"__PROTO__","tokenCount":3}],"promptTokenCount":3}}';
    const record = parse(`[${text}]`);
    check(record);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(record.toolUses[0]?.input).toEqual({ a: {} });
  });

  it('deeply nested and wide input is read in bounded time', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    check(parse(deep));
    check(
      parse(
        `{"choices":[{"message":{"content":"hi","tool_calls":[{"function":{"name":"f","arguments":${JSON.stringify(deep)}}}]}}]}`,
      ),
    );
    check(
      parse({
        type: 'message',
        content: Array.from({ length: 100_000 }, (_, i) => ({
          type: 'web_search_tool_result',
          tool_use_id: `x${i}`,
        })),
      }),
    );
    check(
      parse(
        Array.from({ length: 50_000 }, () => ({
          type: 'response.output_text.delta',
          output_index: 1e9,
          content_index: 1e9,
          delta: 'x',
        })),
      ),
    );
    check(
      parse([
        {
          candidates: [
            {
              content: {
                parts: [
                  { functionCall: { name: 'f', partialArgs: [{ jsonPath: '$.a[999999]', numberValue: 1 }] } },
                ],
              },
            },
          ],
        },
      ]),
    );
  });

  it.each([
    ['an index', (i: number) => ({ index: i, id: `call_${i}` })],
    ['an id', (i: number) => ({ id: `call_${i}` })],
    ['the same index', (i: number) => ({ index: 0, id: `call_${i}` })],
    ['neither', () => ({})],
  ])('parallel calls with %s are put together with work that grows as their number does', (_, keys) => {
    const stream = (count: number) =>
      Array.from({ length: count }, (_, i) => ({
        object: 'chat.completion.chunk',
        choices: [{ delta: { tool_calls: [{ ...keys(i), function: { name: 'f', arguments: '{}' } }] } }],
      }));
    const few = readsWhile(() => expect(parse(stream(500)).toolUses).toHaveLength(500));
    const many = readsWhile(() => expect(parse(stream(2000)).toolUses).toHaveLength(2000));
    expect(many / few).toBeLessThan(5);
  });

  it('objects that throw when they are read give an error', () => {
    const trap = new Proxy(
      {},
      {
        get: () => {
          throw new Error('boo');
        },
      },
    );
    expect(parse(trap).error).toMatchObject({ code: 'unreadable' });
  });

  it('strange events in a stream are told and skipped', async () => {
    const accumulator = createAccumulator();
    for (const event of [null, 7, 'data: {"type":"ping"}\n\n', Symbol('x'), () => 1]) accumulator.push(event);
    expect(accumulator.end().warnings.map((w) => w.code)).toContain('stream_corrupt');
    expect((await parseStream([])).error).toMatchObject({ code: 'empty' });
  });

  it('a provider name that contradicts the shape is a warning, and the shape wins', () => {
    const record = parse(
      responses.find((r) => JSON.stringify(r).includes('candidates')),
      { provider: 'anthropic' },
    );
    expect(record).toMatchObject({ provider: 'anthropic', detected: false, api: 'gemini.generateContent' });
    expect(record.warnings.map((w) => w.code)).toContain('provider_mismatch');
  });

  it('usageOf takes anything', () => {
    for (const value of bad) expect(usageOf(value)).toBeNull();
  });
});
