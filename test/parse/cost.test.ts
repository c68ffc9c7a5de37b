import { readFileSync } from 'node:fs';
import { parse } from 'duologue/parse';
import { costOf, createPricer } from 'duologue/parse/cost';
import { describe, expect, it } from 'vitest';

const load = (name: string) => {
  const fixture = JSON.parse(
    readFileSync(new URL(`../../fixtures/responses/${name}.json`, import.meta.url), 'utf8'),
  );
  return parse(fixture.response, { provider: fixture.provider });
};

describe('cost', () => {
  it('prices what the cache read and wrote at its own price', async () => {
    const cost = await costOf(load('anthropic_cache'));
    // Claude Sonnet 4.5, dollars a million tokens: input 3, cache read 0.3, written for five minutes 3.75, for an hour 6, output 15.
    const input = (111 * 3 + 2048 * 0.3 + 100 * 3.75 + 200 * 6) / 1e6;
    expect(cost.inputUsd).toBeCloseTo(input, 9);
    expect(cost.outputUsd).toBeCloseTo((7 * 15) / 1e6, 9);
    expect(cost.usd).toBeCloseTo(input + (7 * 15) / 1e6, 9);
    expect(cost).toMatchObject({ provider: 'anthropic', warnings: [] });
  });

  it('prices the tokens that Cohere bills, not all that it processed', async () => {
    const record = load('cohere_chat');
    const cost = await costOf(record, { model: 'command-a' });
    // Command A: input 2.5, output 10; 31 and 9 of the 245 and 11 tokens are billed.
    expect(cost.usd).toBeCloseTo((31 * 2.5 + 9 * 10) / 1e6, 9);
    expect(await costOf(record)).toMatchObject({ usd: null, warnings: [{ code: 'cost_model_unknown' }] });
  });

  it('is null, with a warning, when the counts contradict each other', async () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 1,
      prompt_tokens_details: { cached_tokens: 20 },
    };
    const record = parse({ model: 'gpt-4o', choices: [{ message: { content: 'Hi' } }], usage });
    expect(await costOf(record)).toMatchObject({
      usd: null,
      inputUsd: null,
      outputUsd: null,
      warnings: [{ code: 'cost_usage_invalid', message: expect.stringContaining('cache_read_tokens (20)') }],
    });
  });

  it('is null as a whole when the model of a call inside the response has no price', async () => {
    const record = parse({
      type: 'message',
      model: 'claude-sonnet-4-5',
      content: [],
      usage: {
        input_tokens: 1,
        output_tokens: 1,
        iterations: [{ type: 'advisor_message', model: 'no-such-model', input_tokens: 1, output_tokens: 1 }],
      },
    });
    expect(await costOf(record)).toMatchObject({
      usd: null,
      inputUsd: null,
      warnings: [{ code: 'cost_model_unknown', message: 'no price is known for no-such-model' }],
    });
  });

  it('prices thoughts as output and a cached prompt once', async () => {
    const cost = await costOf(load('openai_with_reasoning'));
    // o3-mini: input 1.1, cached 0.55, output 4.4.
    expect(cost.usd).toBeCloseTo(((1200 - 1024) * 1.1 + 1024 * 0.55 + 340 * 4.4) / 1e6, 9);
  });

  it('prices sound, and sound that the cache read, at their own prices', async () => {
    const record = parse({
      modelVersion: 'gemini-2.5-flash',
      candidates: [{ content: { role: 'model', parts: [{ text: 'Yes.' }] }, finishReason: 'STOP' }],
      usageMetadata: {
        promptTokenCount: 1000,
        cachedContentTokenCount: 500,
        candidatesTokenCount: 10,
        totalTokenCount: 1010,
        promptTokensDetails: [
          { modality: 'TEXT', tokenCount: 400 },
          { modality: 'AUDIO', tokenCount: 600 },
        ],
        cacheTokensDetails: [
          { modality: 'TEXT', tokenCount: 200 },
          { modality: 'AUDIO', tokenCount: 300 },
        ],
      },
    });
    expect(record.usage?.modality).toEqual({
      input: { text: 400, audio: 600 },
      output: {},
      cacheRead: { text: 200, audio: 300 },
    });
    // Dollars a million tokens: text 0.3, cached 0.03, sound 1, cached 0.1.
    const input = (200 * 0.3 + 200 * 0.03 + 300 * 1 + 300 * 0.1) / 1e6;
    expect((await costOf(record)).inputUsd).toBeCloseTo(input, 9);
    expect((await costOf({ ...record, model: 'gemini-3.8-live' })).usd).toBeNull();
  });

  it('details that are more than their sum count as all of it', async () => {
    const record = parse({
      modelVersion: 'gemini-2.5-flash',
      candidates: [{ content: { role: 'model', parts: [{ text: 'Yes.' }] }, finishReason: 'STOP' }],
      usageMetadata: {
        promptTokenCount: 100,
        candidatesTokenCount: 10,
        totalTokenCount: 110,
        promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 151 }],
      },
    });
    expect((await costOf(record)).inputUsd).toBeCloseTo(100 / 1e6, 9);
  });

  it('an unknown model is null and a warning, never zero', async () => {
    const record = { ...load('openai_chat_completion'), model: 'no-such-model-9' };
    expect(await costOf(record)).toEqual({
      usd: null,
      inputUsd: null,
      outputUsd: null,
      model: null,
      provider: null,
      warnings: [{ code: 'cost_model_unknown', message: 'no price is known for no-such-model-9' }],
    });
  });

  it('a response without a model or without counts is null and says why', async () => {
    const pricer = await createPricer();
    expect(pricer.costOf(load('bedrock_converse')).warnings[0]?.code).toBe('cost_model_unknown');
    expect(
      pricer.costOf(load('bedrock_converse'), { model: 'anthropic.claude-sonnet-4-5-20250929-v1:0' }).usd,
    ).toBeGreaterThan(0);
    expect(pricer.costOf(load('openai_responses_queued')).warnings[0]?.code).toBe('cost_usage_missing');
    expect(pricer.costOf(load('anthropic_error')).usd).toBeNull();
  });

  it('adds the calls inside a response that its totals leave out', async () => {
    const pricer = await createPricer();
    const plain = load('anthropic_text');
    const usage = plain.usage;
    if (usage === null) throw new Error('no usage');
    const iterations = [
      { type: 'compaction', input_tokens: 1000, output_tokens: 100 },
      { type: 'message', input_tokens: 20, output_tokens: 12 },
    ];
    const more = pricer.costOf({ ...plain, usage: { ...usage, iterations } }).usd ?? 0;
    expect(more - (pricer.costOf(plain).usd ?? 0)).toBeCloseTo((1000 * 3 + 100 * 15) / 1e6, 9);
  });

  it('says when a service tier is priced as standard', async () => {
    const cost = await costOf({ ...load('openai_chat_completion'), serviceTier: 'flex' });
    expect(cost.warnings).toEqual([
      { code: 'cost_service_tier_ignored', message: 'priced as standard, but the service tier is flex' },
    ]);
  });
});
