import { createEvent, type Event } from '@google/adk';
import { FinishReason, MediaModality } from '@google/genai';
import { describe, expect, it } from 'vitest';
import { MessageChunks, type MessageOutput } from '../../src/adk/index.ts';
import { Grammar } from '../../src/protocol/index.ts';

type TextLog = Partial<Event>;

const model = (parts: NonNullable<NonNullable<Event['content']>['parts']>, more: TextLog = {}): TextLog => ({
  author: 'assistant',
  content: { role: 'model', parts },
  ...more,
});
const piece = (text: string, thought = false): TextLog =>
  model([{ text, ...(thought ? { thought } : {}) }], { partial: true });

/** Folds events into what comes out of a turn, its end included. */
type Options = ConstructorParameters<typeof MessageChunks>[0];

function fold(events: TextLog[], options: Options = {}, areWordsAlone = false): MessageOutput[] {
  const turn = new MessageChunks(options);
  const take = (event: Event): MessageOutput[] => (areWordsAlone && turn.words(event)) || turn.push(event);
  return [...events.flatMap((event) => take(createEvent(event))), ...turn.end()];
}

const end = (finishReason: string, more: object = {}) => ({
  type: 'finish',
  finishReason,
  messageMetadata: { usage: null, ...more },
});

const cases: {
  name: string;
  events: TextLog[];
  out: unknown[];
  options?: ConstructorParameters<typeof MessageChunks>[0];
}[] = [
  {
    name: 'pieces of a text, then the whole of it: nothing is said twice',
    events: [piece('Hel'), piece('lo'), model([{ text: 'Hello' }])],
    out: [
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Hel' },
      { type: 'text-delta', id: '0', delta: 'lo' },
      { type: 'text-end', id: '0' },
      end('stop'),
    ],
  },
  {
    name: 'sound in an event that is marked partial is heard',
    events: [model([{ inlineData: { mimeType: 'audio/pcm;rate=24000', data: 'AAAA' } }], { partial: true })],
    out: [
      { type: 'audio', data: 'AAAA', sampleRate: 24_000 },
      end('stop', { audio: { chunks: 1, bytes: 3, sampleRate: 24_000, duration: 3 / 48_000 } }),
    ],
  },
  {
    name: 'a thought that comes whole behind the transcript beside it is told once',
    events: [
      piece('hm', true),
      model([{ text: 'Noon.' }], { outputTranscription: { text: 'Noon.', finished: true } }),
      model([{ text: 'hm', thought: true }]),
    ],
    out: [
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'hm' },
      { type: 'reasoning-end', id: '0' },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'Noon.' },
      { type: 'text-end', id: '1' },
      end('stop'),
    ],
  },
  {
    name: 'a thought that comes whole before the end of the transcript beside it leaves the transcript as it is',
    events: [
      piece('hm', true),
      { outputTranscription: { text: 'It is ', finished: false }, partial: true, author: 'assistant' },
      model([{ text: 'hm', thought: true }]),
      { outputTranscription: { text: 'noon.', finished: false }, partial: true, author: 'assistant' },
      model([{ text: 'It is noon.' }], { outputTranscription: { text: 'It is noon.', finished: true } }),
    ],
    out: [
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'hm' },
      { type: 'reasoning-end', id: '0' },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'It is ' },
      { type: 'text-delta', id: '1', delta: 'noon.' },
      { type: 'text-end', id: '1' },
      end('stop'),
    ],
  },
  {
    name: 'a whole text that goes on where its pieces ended',
    events: [piece('Hel'), model([{ text: 'Hello' }])],
    out: [
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Hel' },
      { type: 'text-delta', id: '0', delta: 'lo' },
      { type: 'text-end', id: '0' },
      end('stop'),
    ],
  },
  {
    name: 'a whole text without pieces',
    events: [model([{ text: 'Hello' }])],
    out: [
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Hello' },
      { type: 'text-end', id: '0' },
      end('stop'),
    ],
  },
  {
    name: 'a whole text in several parts after its pieces',
    events: [piece('One two'), model([{ text: 'One ' }, { text: 'two' }])],
    out: [
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'One two' },
      { type: 'text-end', id: '0' },
      end('stop'),
    ],
  },
  {
    name: 'thoughts are reasoning, closed before the text',
    events: [piece('Hm', true), piece('Yes'), model([{ text: 'Hm', thought: true }, { text: 'Yes' }])],
    out: [
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'Hm' },
      { type: 'reasoning-end', id: '0' },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'Yes' },
      { type: 'text-end', id: '1' },
      end('stop'),
    ],
  },
  {
    name: 'a call closes the text before it, and its response follows',
    events: [
      piece('Wait'),
      model([{ text: 'Wait' }, { functionCall: { id: 'c1', name: 'look', args: { at: 1 } } }]),
      model([{ functionResponse: { id: 'c1', name: 'look', response: { seen: true } } }]),
      model([{ text: 'There.' }]),
    ],
    out: [
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Wait' },
      { type: 'text-end', id: '0' },
      { type: 'call', id: 'c1', name: 'look', args: { at: 1 } },
      { type: 'response', id: 'c1', name: 'look', response: { seen: true } },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'There.' },
      { type: 'text-end', id: '1' },
      end('stop'),
    ],
  },
  {
    name: 'the same text in two model calls is said twice',
    events: [piece('Hm.'), model([{ text: 'Hm.' }]), piece('Hm.'), model([{ text: 'Hm.' }])],
    out: [
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Hm.' },
      { type: 'text-end', id: '0' },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'Hm.' },
      { type: 'text-end', id: '1' },
      end('stop'),
    ],
  },
  {
    name: 'code and its result are data',
    events: [
      model([
        { executableCode: { language: 'PYTHON' as never, code: '1+1' } },
        { codeExecutionResult: { outcome: 'OUTCOME_OK' as never, output: '2' } },
        { text: 'Two.' },
      ]),
    ],
    out: [
      { type: 'data-executable-code', data: { language: 'PYTHON', code: '1+1' } },
      { type: 'data-code-execution-result', data: { outcome: 'OUTCOME_OK', output: '2' } },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Two.' },
      { type: 'text-end', id: '0' },
      end('stop'),
    ],
  },
  {
    name: '[S12] an image is a file',
    events: [model([{ text: 'Look:' }, { inlineData: { mimeType: 'image/png', data: 'iVBO' } }])],
    out: [
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Look:' },
      { type: 'text-end', id: '0' },
      { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,iVBO' },
      end('stop'),
    ],
  },
  {
    name: '[S12] an image is data-image when the server is told so',
    options: { images: 'data-image' },
    events: [model([{ inlineData: { mimeType: 'image/png', data: 'iVBO' } }])],
    out: [{ type: 'data-image', data: { mediaType: 'image/png', data: 'iVBO' } }, end('stop')],
  },
  {
    name: 'a file by its address',
    events: [model([{ fileData: { mimeType: 'application/pdf', fileUri: 'https://example.org/a.pdf' } }])],
    out: [{ type: 'file', mediaType: 'application/pdf', url: 'https://example.org/a.pdf' }, end('stop')],
  },
  {
    name: 'sound as PCM is audio with a count, other sound is data',
    events: [
      model([{ inlineData: { mimeType: 'audio/pcm;rate=24000', data: 'AAAAAAAA' } }]),
      model([{ inlineData: { mimeType: 'audio/mp3', data: 'SUQz' } }]),
    ],
    out: [
      { type: 'audio', data: 'AAAAAAAA', sampleRate: 24_000 },
      { type: 'data-audio', data: { mediaType: 'audio/mp3', data: 'SUQz' }, transient: true },
      end('stop', { audio: { chunks: 1, bytes: 6, sampleRate: 24_000, duration: 6 / 48_000 } }),
    ],
  },
  {
    name: 'grounding and citations are sources, each once, and citations are in the finish',
    events: [
      model([{ text: 'Fact.' }], {
        groundingMetadata: {
          groundingChunks: [
            { web: { uri: 'https://a.example/', title: 'A' } },
            { web: { uri: 'https://a.example/', title: 'A' } },
            { retrievedContext: { uri: 'https://b.example/' } },
            { web: { uri: 'javascript:alert(1)' } },
          ],
        },
        citationMetadata: {
          citations: [{ startIndex: 0, endIndex: 4, uri: 'https://c.example/', title: 'C', license: 'MIT' }],
        },
      }),
    ],
    out: [
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Fact.' },
      { type: 'text-end', id: '0' },
      { type: 'source-url', sourceId: 'source-1', url: 'https://a.example/', title: 'A' },
      { type: 'source-url', sourceId: 'source-2', url: 'https://b.example/' },
      { type: 'source-url', sourceId: 'source-3', url: 'https://c.example/', title: 'C' },
      end('stop', {
        citations: [{ startIndex: 0, endIndex: 4, uri: 'https://c.example/', title: 'C', license: 'MIT' }],
      }),
    ],
  },
  {
    name: 'usage is summed over model calls, and the last model version counts',
    events: [
      model([{ functionCall: { id: 'c', name: 'look' } }], {
        usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 2, totalTokenCount: 12 },
        modelVersion: 'm-1',
      }),
      piece('Hi'),
      model([{ text: 'Hi' }], {
        usageMetadata: {
          promptTokenCount: 20,
          candidatesTokenCount: 3,
          thoughtsTokenCount: 4,
          cachedContentTokenCount: 5,
          totalTokenCount: 27,
          promptTokensDetails: [{ modality: MediaModality.AUDIO, tokenCount: 6 }],
        },
        modelVersion: 'm-2',
        finishReason: FinishReason.STOP,
      }),
    ],
    out: [
      { type: 'call', id: 'c', name: 'look', args: {} },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Hi' },
      { type: 'text-end', id: '0' },
      {
        type: 'finish',
        finishReason: 'stop',
        messageMetadata: {
          usage: {
            input: 30,
            output: 9,
            cacheRead: 5,
            cacheWrite: null,
            reasoning: 4,
            total: 39,
            audio: { input: 6, output: null, cacheRead: null },
          },
          modelVersion: 'm-2',
          rawFinishReason: 'STOP',
        },
      },
    ],
  },
  {
    name: 'a text cut off by the token limit',
    events: [model([{ text: 'Cut' }], { finishReason: FinishReason.MAX_TOKENS, errorCode: 'MAX_TOKENS' })],
    out: [
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Cut' },
      { type: 'text-end', id: '0' },
      end('length', { rawFinishReason: 'MAX_TOKENS', finishReason: 'length' }),
    ],
  },
  {
    name: 'safety after some text',
    events: [piece('So'), { author: 'assistant', errorCode: 'SAFETY', finishReason: FinishReason.SAFETY }],
    out: [
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'So' },
      { type: 'text-end', id: '0' },
      end('content-filter', { rawFinishReason: 'SAFETY', finishReason: 'content-filter' }),
    ],
  },
  {
    name: 'a block after some text',
    events: [piece('So'), { author: 'assistant', errorCode: 'PROHIBITED_CONTENT' }],
    out: [
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'So' },
      { type: 'text-end', id: '0' },
      end('content-filter', { rawFinishReason: 'PROHIBITED_CONTENT', finishReason: 'content-filter' }),
    ],
  },
  ...['TOO_MANY_CALLS', 'rate_limit_error', 'MODEL_ERROR'].map((code) => ({
    name: `${code} after some text is a failure, whatever its name reminds of`,
    events: [piece('So'), { author: 'assistant', errorCode: code }],
    out: [
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'So' },
      { type: 'text-end', id: '0' },
      { type: 'failed', code, message: '' },
      end('stop'),
    ],
  })),
  {
    name: 'safety without any text is a failure',
    events: [{ author: 'assistant', errorCode: 'SAFETY', errorMessage: 'blocked' }],
    out: [{ type: 'failed', code: 'SAFETY', message: 'blocked' }, end('stop')],
  },
  {
    name: 'an error after some text closes the text',
    events: [piece('So'), { author: 'assistant', errorCode: 'UNKNOWN_ERROR', errorMessage: 'broken' }],
    out: [
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'So' },
      { type: 'text-end', id: '0' },
      { type: 'failed', code: 'UNKNOWN_ERROR', message: 'broken' },
      end('stop'),
    ],
  },
  {
    name: 'parts and events without content are nothing',
    events: [
      { author: 'assistant' },
      model([]),
      model([{ text: '' }]),
      model([{ inlineData: {} }, { fileData: { fileUri: 'file:///etc/passwd' } }]),
    ],
    out: [end('stop')],
  },
];

describe('events of ADK become chunks', () => {
  it.each(cases)('$name', ({ events, out, options }) => {
    expect(fold(events, options)).toEqual(out);
  });

  it.each(cases)('$name: words that are taken alone are the same', ({ events, out, options }) => {
    expect(fold(events, options, true)).toEqual(out);
  });

  it.each(cases)('$name: the grammar has nothing to say', ({ events, options }) => {
    const grammar = new Grammar('sse');
    const wrong: string[] = grammar.push({ type: 'start', messageId: 'm' });
    for (const out of fold(events, options)) {
      if (out.type === 'call') {
        const call = {
          toolCallId: out.id,
          toolName: out.name,
          toolMetadata: { runsOn: 'server', asks: false },
        };
        wrong.push(
          ...grammar.push({ type: 'tool-input-start', ...call }),
          ...grammar.push({ type: 'tool-input-available', ...call, input: out.args }),
        );
      } else if (out.type === 'response') {
        wrong.push(
          ...grammar.push({ type: 'tool-output-available', toolCallId: out.id, output: out.response }),
        );
      } else if (!['audio', 'heard', 'failed', 'interrupted', 'turn-complete'].includes(out.type)) {
        wrong.push(...grammar.push(out as Parameters<Grammar['push']>[0]));
      }
    }
    expect([...wrong, ...grammar.end()]).toEqual([]);
  });

  it('continues the ids and the usage of a message that goes on', () => {
    const usage = { input: 1, output: 2, cacheRead: null, cacheWrite: null, reasoning: null, total: 3 };
    const out = fold(
      [
        model([{ text: 'On' }], {
          usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 20, totalTokenCount: 30 },
        }),
      ],
      { firstId: 4, usage },
    );
    expect(out[0]).toEqual({ type: 'text-start', id: '4' });
    expect(out.at(-1)).toMatchObject({ messageMetadata: { usage: { input: 11, output: 22, total: 33 } } });
  });
});

describe('finish reasons', () => {
  const table: [string, string][] = [
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'content-filter'],
    ['RECITATION', 'content-filter'],
    ['BLOCKLIST', 'content-filter'],
    ['PROHIBITED_CONTENT', 'content-filter'],
    ['SPII', 'content-filter'],
    ['IMAGE_SAFETY', 'content-filter'],
    ['MALFORMED_FUNCTION_CALL', 'error'],
    ['UNEXPECTED_TOOL_CALL', 'error'],
    ['LANGUAGE', 'other'],
    ['OTHER', 'other'],
    ['FINISH_REASON_UNSPECIFIED', 'other'],
    ['SOMETHING_NEW', 'other'],
  ];

  it.each(table)('%s becomes %s', (raw, reason) => {
    const out = fold([model([{ text: 'x' }], { finishReason: raw as FinishReason })]);
    const isCut = reason === 'length' || reason === 'content-filter';
    expect(out.at(-1)).toEqual(
      end(reason, { rawFinishReason: raw, ...(isCut ? { finishReason: reason } : {}) }),
    );
  });

  it('every reason that the model library knows has one of the six of the SDK', () => {
    const six = ['stop', 'length', 'content-filter', 'tool-calls', 'error', 'other'];
    for (const raw of Object.values(FinishReason)) {
      const last = fold([model([{ text: 'x' }], { finishReason: raw })]).at(-1);
      expect(six).toContain(last?.type === 'finish' ? last.finishReason : null);
    }
  });
});

it('[C12] a message that goes on after it had sound still tells of that sound at its end', () => {
  const audio = { chunks: 2, bytes: 96_000, sampleRate: 24_000, duration: 2 };
  expect(new MessageChunks({ audio }).end()).toMatchObject([{ type: 'finish', messageMetadata: { audio } }]);
});
