import { parse } from 'duologue/parse';
import { describe, expect, it, vi } from 'vitest';
import type { ApiDescription } from '../../src/parse/api.ts';

/** An API that does not exist. */
const acme = vi.hoisted(
  (): ApiDescription => ({
    api: 'acme.answers',
    recognise: ({ sayings }) => (Array.isArray(sayings) ? 'body' : null),
    choicesIn: ({ sayings }) => sayings as unknown[],
    claimsError: ({ sorry }) => sorry,
    streaming: {
      ownEvents: true,
      take({ items, body }, { saying, end }) {
        if (saying) items.set(items.size, { content: saying });
        if (end) Object.assign(body, end);
        return Boolean(saying ?? end);
      },
      close: (fold, items) => {
        fold.done = true;
        return { ...fold.body, sayings: [{ content: items.map(({ content }) => content).join('') }] };
      },
    },
    readOwn(_, value, _out, record) {
      record.safety = value;
    },
    finish: { tired: 'length' },
  }),
);

vi.mock('../../src/parse/apis/index.ts', async (original) => {
  const { APIS } = await original<{ APIS: readonly ApiDescription[] }>();
  return { APIS: [...APIS, acme] };
});

describe('an API that is in the list', () => {
  const facts = {
    api: 'acme.answers',
    provider: 'acme',
    id: 'a1',
    text: 'Hello there',
    complete: true,
    safety: 'good',
    usage: { input: 3, output: 5 },
    warnings: [],
  };
  const head = { id: 'a1', trace: 'good', usage: { input_tokens: 3, output_tokens: 5 } };

  it('is recognised and read, its own fields and stop reasons included', () => {
    const body = { ...head, sayings: [{ content: 'Hello there', stop_reason: 'tired' }] };
    expect(parse(body)).toMatchObject({ ...facts, stopReason: 'tired', finish: 'length' });
  });

  it('is read from a stream of its own events', () => {
    const events = [{ saying: 'Hello ' }, { saying: 'there' }, { end: head }];
    expect(parse(events)).toMatchObject({ ...facts, streamed: true });
  });

  it('has its own errors', () => {
    const record = parse({ sorry: true, error: { message: 'm' } });
    expect(record).toMatchObject({ api: 'acme.answers', error: { message: 'm' } });
  });
});
