import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Input, type InputPart, LIMITS, ProtocolError, readInput } from '../../src/protocol/index.ts';

const user = (fields: object) => [{ id: 'm1', role: 'user', ...fields }];
const texts = (...parts: InputPart[]): Input => ({ kind: 'message', id: 'm1', parts });
const text = (value: string): InputPart => ({ type: 'text', text: value });

/** The code that reading ends with; the text when it is read. */
function codeOf(messages: unknown, limits = LIMITS): string {
  try {
    return JSON.stringify(readInput(messages, limits));
  } catch (error) {
    if (error instanceof ProtocolError) return error.code;
    throw error;
  }
}

describe('the last message', () => {
  test.each<[string, object, Input]>([
    ['parts', { parts: [{ type: 'text', text: 'hi' }] }, texts(text('hi'))],
    ['a text as content', { content: 'hi' }, texts(text('hi'))],
    ['parts as content', { content: [{ type: 'text', text: 'hi' }] }, texts(text('hi'))],
    [
      'parts, with the same text in content',
      { content: 'hi', parts: [{ type: 'text', text: 'hi' }] },
      texts(text('hi')),
    ],
    ['content beside empty parts', { content: 'hi', parts: [] }, texts(text('hi'))],
    [
      'attachments that are parts',
      {
        experimental_attachments: [
          { type: 'text', text: 'what is it?' },
          { type: 'image', data: 'aGk=', media_type: 'image/png' },
        ],
      },
      texts(text('what is it?'), { type: 'file', mediaType: 'image/png', data: 'aGk=' }),
    ],
    [
      'content beside attachments that are files',
      {
        content: 'look',
        experimental_attachments: [
          { name: 'a.png', contentType: 'image/png', url: 'data:image/png;base64,aGk=' },
          { url: 'data:image/webp;base64,aGk=' },
        ],
      },
      texts(
        text('look'),
        { type: 'file', mediaType: 'image/png', data: 'aGk=', filename: 'a.png' },
        { type: 'file', mediaType: 'image/webp', data: 'aGk=' },
      ),
    ],
    [
      'a file without a file name',
      { parts: [{ type: 'file', mediaType: 'image/jpeg', url: 'data:image/jpeg;base64,aGk=' }] },
      texts({ type: 'file', mediaType: 'image/jpeg', data: 'aGk=' }),
    ],
    [
      'a file with a file name, its type named by the URL alone',
      { parts: [{ type: 'file', filename: 'x.png', url: 'DATA:image/png;name=x;base64,aGk=' }] },
      texts({ type: 'file', mediaType: 'image/png', data: 'aGk=', filename: 'x.png' }),
    ],
    [
      'a file of no named type',
      { parts: [{ type: 'file', url: 'data:;base64,aGk=' }] },
      texts({ type: 'file', mediaType: '', data: 'aGk=' }),
    ],
    [
      'a file that was stored before',
      {
        parts: [
          { type: 'file', mediaType: 'image/png', filename: 'x', url: '/files/f1' },
          { type: 'file', url: '/files/f2' },
        ],
      },
      texts(
        { type: 'stored-file', url: '/files/f1', mediaType: 'image/png', filename: 'x' },
        { type: 'stored-file', url: '/files/f2' },
      ),
    ],
    [
      'an image as data',
      { parts: [{ type: 'data-image', data: { mediaType: 'image/png', data: 'aGk=' } }] },
      texts({ type: 'file', mediaType: 'image/png', data: 'aGk=' }),
    ],
    [
      'an image as data, flat',
      { parts: [{ type: 'data-image', mediaType: 'image/png', data: 'aGk=' }] },
      texts({ type: 'file', mediaType: 'image/png', data: 'aGk=' }),
    ],
    [
      'an image with the newer spelling and a file name',
      { parts: [{ type: 'image', data: 'aGk=', mediaType: 'image/png', filename: 'x' }] },
      texts({ type: 'file', mediaType: 'image/png', data: 'aGk=', filename: 'x' }),
    ],
  ])('[C15] [C15a] [C15b] is read from %s', (_what, fields, input) => {
    expect(readInput(user(fields))).toEqual(input);
  });

  test('[C14] is read alone: what stands before it may be anything', () => {
    const before = [
      null,
      5,
      'x',
      [],
      { role: 'assistant', parts: 'nonsense' },
      { role: 'user', parts: [{}] },
    ];
    expect(readInput([...before, ...user({ content: 'hi' })])).toEqual(texts(text('hi')));
    expect(readInput([...Array(200_000).fill(null), ...user({ content: 'hi' })])).toEqual(texts(text('hi')));
  });

  test.each([
    ['no id', {}],
    ['a null id', { id: null }],
    ['an empty id', { id: '' }],
  ])('[C14a] may have %s', (_what, fields) => {
    expect(readInput([{ role: 'user', content: 'hi', ...fields }])).toEqual({
      kind: 'message',
      id: undefined,
      parts: [text('hi')],
    });
  });

  test('[C16] is read without the parts that are unknown, and without empty text', () => {
    const parts = [
      { type: 'step-start' },
      { type: 'text', text: '' },
      { type: 'text', text: ' \n' },
      { type: 'hologram', url: 5 },
      { type: 'data-mood', data: 1 },
      { type: '__proto__' },
      { type: 'text', text: 'hi' },
      { type: 'reasoning', text: 'secret' },
      { type: 'tool-pay', toolCallId: 'c', state: 'output-available', output: 1 },
    ];
    expect(readInput(user({ parts }))).toEqual(texts(text(' \n'), text('hi')));
  });

  const approved = {
    type: 'tool-pay',
    toolCallId: 'c1',
    state: 'approval-responded',
    approval: { id: 'a1', approved: true },
  };
  const decision = { kind: 'decision', toolCallId: 'c1', approvalId: 'a1', approved: true };

  test.each<[string, object, Input]>([
    [
      'an assistant',
      { id: 'a', role: 'assistant', parts: [{ type: 'text', text: 'ignored' }, approved] },
      { kind: 'answers', messageId: 'a', answers: [decision as never] },
    ],
    [
      'an assistant, with nothing answered',
      { id: 'a', role: 'assistant', parts: [] },
      { kind: 'answers', messageId: 'a', answers: [] },
    ],
    [
      'a tool',
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c2', result: {} }] },
      { kind: 'answers', messageId: undefined, answers: [{ kind: 'output', toolCallId: 'c2', output: {} }] },
    ],
    [
      'a user who says nothing beside the answers',
      { id: 'u', role: 'user', parts: [approved, { type: 'tool-result', toolCallId: 'c2', result: 'x' }] },
      {
        kind: 'answers',
        messageId: undefined,
        answers: [decision as never, { kind: 'output', toolCallId: 'c2', output: 'x' }],
      },
    ],
  ])('[T8] [T8b] of %s holds answers', (_what, message, input) => {
    expect(readInput([message])).toEqual(input);
  });

  test('[T8a] of a user who says something is a message, and its tool parts are not read', () => {
    expect(readInput(user({ parts: [approved, { type: 'text', text: 'hi' }] }))).toEqual(texts(text('hi')));
  });
});

describe('a last message that is refused', () => {
  test.each<[string, unknown, string]>([
    ['no messages', undefined, 'bad_request'],
    ['messages that are no list', { length: 1, 0: { role: 'user', content: 'x' } }, 'bad_request'],
    ['an empty list', [], 'bad_request'],
    ['null', [null], 'bad_request'],
    ['a list', [[]], 'bad_request'],
    ['a text', ['hi'], 'bad_request'],
    ['no role', [{ content: 'hi' }], 'bad_request'],
    ['a system role', [{ role: 'system', content: 'hi' }], 'bad_request'],
    ['a role that is an object', [{ role: {}, content: 'hi' }], 'bad_request'],
    ['an id that is a number', user({ id: 5, content: 'hi' }), 'bad_request'],
    ['an id that is too long', user({ id: 'x'.repeat(257), content: 'hi' }), 'bad_request'],
    ['neither parts nor content', user({}), 'bad_request'],
    ['null for both', user({ parts: null, content: null }), 'bad_request'],
    ['parts that are a text', user({ parts: 'hi' }), 'bad_request'],
    ['parts that are an object', user({ parts: {} }), 'bad_request'],
    ['content that is a number', user({ content: 5 }), 'bad_request'],
    ['attachments that are a text', user({ content: 'hi', experimental_attachments: 'x' }), 'bad_request'],
    [
      'an attachment without type and URL',
      user({ content: 'hi', experimental_attachments: [{}] }),
      'bad_request',
    ],
    ['a part that is null', user({ parts: [null] }), 'bad_request'],
    ['a part that is a list', user({ parts: [[]] }), 'bad_request'],
    ['a part without type', user({ parts: [{ text: 'hi' }] }), 'bad_request'],
    ['a part whose type is a number', user({ parts: [{ type: 1 }] }), 'bad_request'],
    ['an answer beside a part without type', [{ role: 'assistant', parts: [{}] }], 'bad_request'],
    [
      'a dynamic tool without name',
      [{ role: 'assistant', parts: [{ type: 'dynamic-tool', toolCallId: 'c', state: 'output-error' }] }],
      'bad_request',
    ],
    [
      'a dynamic tool whose name is a number, of a user who says nothing',
      user({ parts: [{ type: 'dynamic-tool', toolName: 5, toolCallId: 'c', state: 'output-error' }] }),
      'bad_request',
    ],
    ['a text part without text', user({ parts: [{ type: 'text' }] }), 'bad_request'],
    ['a text that is a number', user({ parts: [{ type: 'text', text: 5 }] }), 'bad_request'],
    ['a file without URL', user({ parts: [{ type: 'file' }] }), 'bad_request'],
    [
      'a file that is not base64',
      user({ parts: [{ type: 'file', url: 'data:image/png,abc' }] }),
      'bad_request',
    ],
    [
      'a file whose encoding only looks like base64',
      user({ parts: [{ type: 'file', url: 'data:image/png;base64x,abc' }] }),
      'bad_request',
    ],
    [
      'a file whose URL never begins',
      user({ parts: [{ type: 'file', url: `data:${'x'.repeat(5_000)}` }] }),
      'bad_request',
    ],
    [
      'a stored file with an endless URL',
      user({ parts: [{ type: 'file', url: `/${'x'.repeat(2_048)}` }] }),
      'bad_request',
    ],
    ['an image without data', user({ parts: [{ type: 'image', media_type: 'image/png' }] }), 'bad_request'],
    ['an image without type', user({ parts: [{ type: 'image', data: 'aGk=' }] }), 'bad_request'],
    ['no parts at all', user({ parts: [] }), 'empty_message'],
    ['empty content', user({ content: '' }), 'empty_message'],
    ['blank text', user({ parts: [{ type: 'text', text: ' \n\t' }] }), 'empty_message'],
    ['unknown parts alone', user({ parts: [{ type: 'hologram' }] }), 'empty_message'],
  ])('[C16a] %s is refused', (_what, messages, code) => {
    expect(codeOf(messages)).toBe(code);
  });

  test('[C16] a role of any size and depth is refused in few words', () => {
    let deep: unknown = [];
    for (let i = 0; i < 100_000; i += 1) deep = [deep];
    for (const role of [deep, 'x'.repeat(1_000_000)]) {
      expect(() => readInput([{ role, content: 'hi' }])).toThrow(
        /^The last message has role .{4,70}; expected/,
      );
    }
  });

  test('whatever comes, it is read or refused with a code', () => {
    const key = fc.constantFrom(
      'role',
      'id',
      'parts',
      'content',
      'experimental_attachments',
      'type',
      'text',
      'url',
      'data',
    );
    const word = fc.constantFrom(
      'user',
      'assistant',
      'tool',
      'text',
      'file',
      'image',
      'data-image',
      'data:image/png;base64,',
    );
    const tree = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        word,
        fc.jsonValue({ maxDepth: 1 }),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(key, tie('value'), { maxKeys: 6 }),
      ),
    })).value;
    fc.assert(
      fc.property(fc.oneof(tree, fc.array(tree)), (messages) => {
        expect(typeof codeOf(messages)).toBe('string');
      }),
      { numRuns: 500 },
    );
  });
});

describe('limits of a message', () => {
  const file = (bytes: number) => ({
    type: 'file',
    url: `data:image/png;base64,${Buffer.alloc(bytes).toString('base64')}`,
  });

  test.each([
    ['text as long as allowed', user({ content: 'x'.repeat(LIMITS.textLength) }), 'read'],
    ['one character more', user({ content: 'x'.repeat(LIMITS.textLength + 1) }), 'too_large'],
    [
      'one character more, in pieces',
      user({ parts: Array(LIMITS.textLength + 1).fill({ type: 'text', text: 'x' }) }),
      'too_large',
    ],
    ['four files', user({ parts: Array(4).fill(file(3)) }), 'read'],
    ['five files', user({ parts: Array(5).fill(file(3)) }), 'too_large'],
    ['five stored files', user({ parts: Array(5).fill({ type: 'file', url: '/files/1' }) }), 'too_large'],
    ['a file as large as allowed', user({ parts: [file(LIMITS.imageBytes)] }), 'read'],
    ['a file one byte larger', user({ parts: [file(LIMITS.imageBytes + 1)] }), 'too_large'],
    ['an id as long as allowed', user({ id: 'x'.repeat(LIMITS.idLength), content: 'hi' }), 'read'],
    [
      'a million unknown parts',
      user({ content: [...Array(1e6).fill({ type: 'x' }), { type: 'text', text: 'hi' }] }),
      'read',
    ],
  ])('[A1b] %s meets its limit', (_what, messages, expected) => {
    const result = codeOf(messages);
    expect(result.startsWith('{') ? 'read' : result).toBe(expected);
  });

  test('[A1] a server may set others', () => {
    const limits = { ...LIMITS, textLength: 2, files: 1, imageBytes: 3, idLength: 4 };
    expect(codeOf(user({ content: 'abc' }), limits)).toBe('too_large');
    expect(codeOf(user({ parts: [file(1), file(1)] }), limits)).toBe('too_large');
    expect(codeOf(user({ parts: [file(4)] }), limits)).toBe('too_large');
    expect(codeOf(user({ id: 'abcde', content: 'a' }), limits)).toBe('bad_request');
  });

  test('[A1d] names that come with a file are cut', () => {
    const long = 'n'.repeat(300);
    const parts = [
      { ...file(1), mediaType: long, filename: long },
      { type: 'image', data: 'aGk=', mediaType: long },
    ];
    const cut = 'n'.repeat(256);
    expect(readInput(user({ parts }))).toEqual(
      texts(
        { type: 'file', mediaType: cut, data: 'AA==', filename: cut },
        { type: 'file', mediaType: cut, data: 'aGk=' },
      ),
    );
  });

  test('[A1] the limits are those of the protocol', () => {
    expect(LIMITS).toEqual({
      bodyBytes: 25_165_824,
      imageBytes: 5_242_880,
      fileBytes: 10_485_760,
      imagePixels: 100_000_000,
      imageSide: 16_384,
      files: 4,
      textLength: 100_000,
      metadataBytes: 16_384,
      idLength: 256,
      reasonLength: 2_000,
      errorLength: 10_000,
      audioBytes: 320_000,
      depth: 100,
    });
  });
});
