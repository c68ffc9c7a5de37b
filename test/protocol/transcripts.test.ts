import { describe, expect, test } from 'vitest';
import { EXCHANGES, pageOf } from '../../scripts/transcripts/exchanges.ts';
import { type Chunk, Grammar, MessageFold, readFrame } from '../../src/protocol/index.ts';
import { read } from '../repository/support/repository.ts';

const pages = EXCHANGES.map((exchange) => [exchange.title, exchange] as const);

/** The exchanges of a page: the text of each block of code. */
function transcriptsIn(page: string): string[] {
  return [...page.matchAll(/^```text\n(.*?)^```$/gms)].map(([, text = '']) => text);
}

/** The JSON that one client received or sent in a transcript, in order. */
function jsonIn(transcript: string, client: string, direction: '<' | '>'): string[] {
  return transcript.split('\n').flatMap((line) => {
    const [, name = '', way, json] = /^([AB] )?([<>]) (?:\S+ )?(\{.*\})$/.exec(line) ?? [];
    return name === client && way === direction && json !== undefined ? [json] : [];
  });
}

describe('the transcripts of docs/transcripts', () => {
  test.each(pages)(
    '[S1] [B10] [B12] [T17] [R6] [B28] [B32] are what a server sends today: %s; after a wanted change: npm run transcripts',
    async (_title, exchange) => {
      await expect(await pageOf(exchange)).toMatchFileSnapshot(`../../docs/transcripts/${exchange.file}.md`);
    },
  );

  test.each(pages)(
    '[C1] [B1] hold chunks in order and frames that the server reads: %s',
    (_title, { file }) => {
      const transcripts = transcriptsIn(read(`docs/transcripts/${file}.md`));
      expect(transcripts.length).toBeGreaterThan(0);
      for (const transcript of transcripts) {
        const isPosted = transcript.includes('POST /stream');
        for (const client of transcript.includes('A >') ? ['A ', 'B '] : ['']) {
          const grammar = new Grammar(isPosted ? 'sse' : 'bidi');
          const chunks = jsonIn(transcript, client, '<')
            .map((json) => JSON.parse(json) as Chunk | { type: 'pong' })
            .filter((value): value is Chunk => value.type !== 'pong');
          expect(chunks.length).toBeGreaterThan(4);
          expect(chunks.flatMap((chunk) => grammar.push(chunk))).toEqual([]);
          const frames = isPosted ? [] : jsonIn(transcript, client, '>');
          expect(frames.map((json) => readFrame(json).type)).toHaveLength(frames.length);
        }
      }
    },
  );

  test('[C11d] the message of the first approval is the one that PROTOCOL.md shows', () => {
    const [first = ''] = transcriptsIn(read('docs/transcripts/approval.md'));
    const fold = new MessageFold({ id: '', role: 'assistant', parts: [] });
    for (const json of jsonIn(first, '', '<')) {
      const chunk = JSON.parse(json) as Chunk;
      fold.push(chunk);
      // The user approves when the first response has ended.
      if (chunk.type === 'finish') fold.decide('call-1', true);
    }
    const [, shown = ''] = /^```json message\n(.*?)^```$/ms.exec(read('PROTOCOL.md')) ?? [];
    expect(JSON.parse(shown)).toEqual(fold.message);
  });

  test('are all listed', () => {
    const listed = [...read('docs/transcripts/README.md').matchAll(/^\| \[([\w-]+)\.md\]/gm)].map(
      ([, name]) => name,
    );
    expect(listed).toEqual(EXCHANGES.map(({ file }) => file));
  });
});
