import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Backend, startBackend } from '../../scripts/fixtures/backend.ts';
import { type AnswersAs, converse, type Mode } from '../../scripts/fixtures/conversation.ts';
import { Lines } from './support/lines.ts';
import { type Exchange, readTranscript } from './support/transcript.ts';

const transcripts = (['sse', 'bidi'] as const).flatMap((mode) => {
  const folder = new URL(`${mode}/`, import.meta.url);
  return readdirSync(folder).map((file) => ({
    file: `${mode}/${file}`,
    mode,
    ...readTranscript(readFileSync(new URL(file, folder), 'utf8')),
  }));
});

/** Conversations of one mode and one setting share a server. */
const keyOf = ({ mode, settings }: { mode: Mode; settings: Record<string, string> }) =>
  JSON.stringify([Object.keys(settings).length === 0 ? mode : '', settings]);

const backends = new Map<string, Backend>();

beforeAll(async () => {
  const [first, ...others] = new Map(transcripts.map((one) => [keyOf(one), one.settings]));
  const start = async ([key, settings]: [string, Record<string, string>]) => {
    backends.set(key, await startBackend(settings));
  };
  // The first builds what the others need.
  if (first) await start(first);
  await Promise.all(others.map(start));
}, 180_000);

afterAll(async () => {
  const codes = await Promise.all([...backends.values()].map((backend) => backend.stop()));
  expect(codes.filter((code) => code !== 0)).toEqual([]);
});

/** Holds a conversation, and tells what each exchange should have said and did say. */
async function hold(url: string, mode: Mode, exchanges: readonly Exchange[], answersAs: AnswersAs) {
  const conversation = await converse(url, mode, answersAs);
  const lines = new Lines();
  const texts: string[][] = [];
  try {
    for (const { step, expected } of exchanges) {
      const got = lines.of(await conversation.take(step));
      texts.push(got);
      // What follows would only wait for what did not come.
      if (got.length !== expected.length) break;
    }
  } finally {
    conversation.close();
  }
  return texts;
}

it('the ten stories over SSE and the eleven over BIDI are there', () => {
  const stories = [
    'change-bgm',
    'get-location-approved',
    'get-location-denied',
    'get-weather',
    'multiple-payments-approve-approve',
    'multiple-payments-approve-deny',
    'multiple-payments-deny-approve',
    'multiple-payments-deny-deny',
    'process-payment-approved',
    'process-payment-denied',
  ];
  const files = transcripts.map(({ file }) => file);
  const wanted = ['sse', 'bidi'].flatMap((mode) => stories.map((story) => `${mode}/${story}.txt`));
  expect(files).toEqual(expect.arrayContaining([...wanted, 'bidi/process-payment-timeout.txt']));
});

describe.concurrent.each(transcripts)('$file: $title', (transcript) => {
  const { mode, rows } = transcript;
  const conversations = rows.flatMap((row, index) => [
    { ...row, answersAs: mode === 'sse' ? 'message' : 'tool_result' } as const,
    ...(mode === 'bidi' && index === 0 ? [{ ...row, answersAs: 'message' } as const] : []),
  ]);

  it.each(conversations)('$name (answers as $answersAs)', async ({ exchanges, answersAs }) => {
    const { url = '' } = backends.get(keyOf(transcript)) ?? {};
    const texts = await hold(url, mode, exchanges, answersAs);
    expect(texts).toEqual(exchanges.map(({ expected }) => expected));
  });
});
