import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseProviderResponse, toFlat } from 'duologue/parse';
import { describe, expect, it } from 'vitest';

const dir = new URL('../../fixtures/responses/', import.meta.url).pathname;
const names = readdirSync(dir).filter((name) => name.endsWith('.json'));

function load(name: string) {
  return JSON.parse(readFileSync(join(dir, name), 'utf8'));
}

describe('every fixture', () => {
  it.each(names)('%s has the documented fields', (name) => {
    const fixture = load(name);
    for (const field of ['_description', '_source', '_captured', '_model', '_scenario']) {
      expect(fixture[field], field).toBeTypeOf('string');
    }
    expect(fixture.request).toBeTypeOf('object');
    expect('expected' in fixture).toBe(!name.startsWith('real_'));
  });

  it.each(names.filter((name) => !name.startsWith('real_')))('%s is read as it says', (name) => {
    const { provider, response, expected, status, headers } = load(name);
    const options = { provider, raw: true, ...(status ? { status } : {}), ...(headers ? { headers } : {}) };
    const record = parse(response, options);
    const { record: facts, ...flat } = expected;
    expect(toFlat(record)).toEqual(flat);
    const { warnings = [], citations = 0, usage, ...rest } = facts;
    expect(record).toMatchObject(rest);
    expect(record.error).toEqual(facts.error ?? null);
    expect(record.warnings.map((warning) => warning.code)).toEqual(warnings);
    expect(record.citations).toHaveLength(citations);
    expect(
      usage && { input: record.usage?.input, output: record.usage?.output, total: record.usage?.total },
    ).toEqual(usage);
  });

  it.each(names.filter((name) => !name.startsWith('real_')))(
    '%s has as `expected` what the body alone gives, but for counts that only headers tell',
    (name) => {
      const { provider, response, expected, headers } = load(name);
      const { record: _, ...flat } = expected;
      const counts = headers ? { input_tokens: null, output_tokens: null } : {};
      expect(parseProviderResponse(provider, response)).toEqual({ ...flat, ...counts });
    },
  );

  it.each(names)('%s is read the same without a provider name, as text and as bytes', (name) => {
    const { response, provider } = load(name);
    const text = JSON.stringify(response);
    const reported = { ...parse(response, { provider }), provider: '', detected: true };
    const blank = (raw: unknown) => ({ ...parse(raw), provider: '', detected: true });
    expect(blank(response)).toEqual({
      ...reported,
      warnings: reported.warnings.filter((w) => w.code !== 'provider_mismatch'),
    });
    expect(blank(text)).toEqual(blank(response));
    expect(blank(new TextEncoder().encode(text))).toEqual(blank(response));
  });

  it('is found inside its own wrapper', () => {
    expect(parse(load('anthropic_text.json')).text).toBe('Good morning.');
  });
});
