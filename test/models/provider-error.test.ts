import { describe, expect, it } from 'vitest';
import {
  failedWith,
  failureOf,
  type ModelFailure,
  oneLine,
  withoutKeys,
} from '../../src/models/provider-error.ts';
import { modelErrorText } from '../../src/server/conversation/state/errors.ts';

const api = (statusCode: number, responseBody: unknown, responseHeaders: Record<string, string> = {}) =>
  Object.assign(new Error((responseBody as { error?: { message?: string } }).error?.message ?? 'Error'), {
    statusCode,
    responseHeaders,
    responseBody: JSON.stringify(responseBody),
  });
const google = (status: number, error: object) =>
  Object.assign(new Error(JSON.stringify({ error: { code: status, ...error } })), { status });

describe('what went wrong', () => {
  it.each<[string, unknown, { code: string; message: string }]>([
    ['a status', api(503, { error: { message: 'Busy' } }), { code: '503', message: 'Busy' }],
    [
      "a wrong key at Google's",
      google(400, { message: 'API key not valid. Please pass a valid API key.', status: 'INVALID_ARGUMENT' }),
      { code: '401', message: 'API key not valid. Please pass a valid API key.' },
    ],
    [
      'an empty account at OpenAI',
      api(429, { error: { message: 'Pay', type: 'insufficient_quota', code: 'insufficient_quota' } }),
      { code: 'QUOTA', message: 'Pay' },
    ],
    [
      'an empty account at Anthropic',
      api(400, {
        type: 'error',
        error: { type: 'invalid_request_error', message: 'Your credit balance is too low' },
      }),
      { code: 'QUOTA', message: 'Your credit balance is too low' },
    ],
    [
      "a limit at Google's that passes",
      google(429, {
        message: 'You exceeded your current quota',
        status: 'RESOURCE_EXHAUSTED',
        details: [{ '@type': 'RetryInfo', retryDelay: '17s' }],
      }),
      { code: '429', message: 'You exceeded your current quota' },
    ],
    [
      "a limit at Google's that does not",
      google(429, { message: 'You exceeded your current quota', status: 'RESOURCE_EXHAUSTED' }),
      { code: 'QUOTA', message: 'You exceeded your current quota' },
    ],
    [
      'an error inside a stream of Anthropic',
      { type: 'overloaded_error', message: 'Overloaded' },
      { code: '529', message: 'Overloaded' },
    ],
    [
      'an error inside a stream of OpenAI',
      { type: 'server_error', code: 'server_error', message: 'Oops' },
      { code: '500', message: 'Oops' },
    ],
    [
      'an event of the Responses API',
      { type: 'error', error: { type: 'tokens', code: 'rate_limit_exceeded', message: 'Slow' } },
      { code: '429', message: 'Slow' },
    ],
    [
      'an exception of Bedrock',
      { throttlingException: { message: 'Too many' } },
      { code: '429', message: 'Too many' },
    ],
    [
      'a lost connection',
      new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }) }),
      { code: 'UNREACHABLE', message: 'fetch failed' },
    ],
    ['a stream that was reset', new TypeError('terminated'), { code: 'UNREACHABLE', message: 'terminated' }],
    [
      'no credentials',
      new Error('Could not load the default credentials.'),
      { code: 'NO_CREDENTIALS', message: 'Could not load the default credentials.' },
    ],
    [
      'a web page',
      Object.assign(new Error('<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head></html>'), {
        status: 502,
      }),
      { code: '502', message: 'a web page: 502 Bad Gateway' },
    ],
    [
      'a fault of our own',
      new Error('x is not a function'),
      { code: 'UNKNOWN_ERROR', message: 'x is not a function' },
    ],
    ['an object that says nothing', { a: 1 }, { code: 'UNKNOWN_ERROR', message: 'no message' }],
    ['text', 'kaput', { code: 'UNKNOWN_ERROR', message: 'kaput' }],
    ['nothing', undefined, { code: 'UNKNOWN_ERROR', message: 'no message' }],
  ])('is told of %s', (_name, error, expected) => {
    expect(failedWith(error)).toEqual(expected);
  });

  it.each<[unknown, number | undefined]>([
    [api(429, {}, { 'retry-after': '7' }), 7000],
    [api(429, {}, { 'retry-after': '0' }), 0],
    [api(429, {}, { 'retry-after-ms': '120', 'retry-after': '7' }), 120],
    [api(429, {}, { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }), 0],
    [api(429, {}, { 'retry-after': 'soon' }), undefined],
    [google(429, { message: 'm', details: [{ retryDelay: '1.5s' }] }), 1500],
    [api(429, {}), undefined],
  ])('says when to come back, if the provider did', (error, ms) => {
    expect((failureOf(error) as ModelFailure).retryAfterMs).toBe(ms);
  });
});

describe('keys', () => {
  it.each([
    ['Incorrect API key provided: sk-proj-abc123DEF456.', 'Incorrect API key provided: sk-…'],
    ['Authorization: Bearer abcdefgh12345', 'Authorization: Bearer …'],
    ['GET /v1?key=AIzaSyA1234567890 failed', 'GET /v1?key=… failed'],
    ['{"x-api-key":"topsecret1"}', '{"x-api-key":"…"}'],
    ['Credential=AKIAABCDEFGH/2026, Signature=abcdef12345', 'Credential=…, Signature=…'],
    ['The model gpt-6-luna-2026-10-01 does not exist', 'The model gpt-6-luna-2026-10-01 does not exist'],
  ])('are taken out of %s', (text, expected) => {
    expect(withoutKeys(text)).toBe(expected);
  });

  it('that are known are taken out however they look', () => {
    expect(withoutKeys('token "hunter2!" is wrong', ['hunter2!'])).toBe('token "…" is wrong');
    expect(failureOf(new Error('Header "hunter2!" is invalid'), ['hunter2!']).message).toBe(
      'Header "…" is invalid',
    );
  });
});

it('what a provider said is one line, and not endless', () => {
  expect(oneLine(' a\n  b\t c ')).toBe('a b c');
  expect(oneLine('x'.repeat(10_000))).toHaveLength(500);
});

it.each([
  [
    '401',
    /^The model is not configured: the model provider does not accept the key of this server \(401\)\.$/,
  ],
  ['404', /^The model provider does not know the model that this server asks for \(404\)\.$/],
  ['QUOTA', /^The quota of this server at the model provider is used up\.$/],
  ['UNREACHABLE', /^The model provider cannot be reached: try again in a moment\.$/],
  ['529', /^The model provider has a fault or is overloaded \(529\): try again in a moment\.$/],
  ['SAFETY', /^The model refused to answer \(safety\): try other words\.$/],
  ['MALFORMED_FUNCTION_CALL', /^The model stopped: malformed function call\.$/],
  ['UNKNOWN_ERROR', /^The agent failed to answer\. Please try again\.$/],
])('[S7] the person is told of %s in one sentence, and nothing that the provider said', (code, expected) => {
  expect(modelErrorText(code, 'internal words')).toMatch(expected);
});
