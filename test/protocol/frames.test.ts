import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  BINARY,
  type ClientFrame,
  encodeBinary,
  encodeFrame,
  LIMITS,
  ProtocolError,
  readBinaryFrame,
  readFrame,
} from '../../src/protocol/index.ts';

const base64 = (...bytes: number[]) => Buffer.from(bytes).toString('base64');
const jpeg = base64(0xff, 0xd8, 0xff, 0xe0);
const message = { role: 'user', content: 'hi' };
const read: ClientFrame = {
  type: 'message',
  input: { kind: 'message', id: undefined, parts: [{ type: 'text', text: 'hi' }] },
  trigger: 'submit-message',
  messageId: undefined,
};
const answers = (...list: Extract<ClientFrame, { type: 'answers' }>['answers']): ClientFrame => ({
  type: 'answers',
  answers: list,
});

/** The error that reading ends with, as code and text. */
function refusal(run: () => unknown): string {
  try {
    return `read: ${JSON.stringify(run())}`;
  } catch (error) {
    if (error instanceof ProtocolError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

const frames: [string, string, object, ClientFrame][] = [
  ['[B2] a', 'message', { messages: [message] }, read],
  [
    '[B2] a',
    'message',
    { messages: [message], trigger: 'regenerate-message', messageId: 'm1', id: 'chat', timestamp: 5 },
    { ...read, trigger: 'regenerate-message', messageId: 'm1' },
  ],
  [
    '[B2] a',
    'message',
    {
      messages: [
        { id: 'a', role: 'assistant', parts: [{ type: 'tool-result', toolCallId: 'c', result: 1 }] },
      ],
    },
    {
      ...read,
      input: { kind: 'answers', messageId: 'a', answers: [{ kind: 'output', toolCallId: 'c', output: 1 }] },
    },
  ],
  [
    '[B3] a',
    'tool_result',
    { toolCallId: 'c', result: { ok: true } },
    answers({ kind: 'output', toolCallId: 'c', output: { ok: true } }),
  ],
  [
    '[B3a] a',
    'tool_result',
    { toolCallId: 'c', result: {} },
    answers({ kind: 'output', toolCallId: 'c', output: {} }),
  ],
  [
    '[B3a] a',
    'tool_result',
    { toolCallId: 'c', result: '' },
    answers({ kind: 'output', toolCallId: 'c', output: '' }),
  ],
  [
    '[B3] a',
    'tool_result',
    { toolCallId: 'c', result: 0 },
    answers({ kind: 'output', toolCallId: 'c', output: 0 }),
  ],
  [
    '[B3a] a',
    'tool_result',
    { toolCallId: 'c', result: null },
    answers({ kind: 'output', toolCallId: 'c', output: null }),
  ],
  [
    '[B3c] a',
    'tool_result',
    { toolCallId: 'confirmation-1', toolName: 'adk_request_confirmation', result: { confirmed: true } },
    answers({ kind: 'output', toolCallId: 'confirmation-1', output: { confirmed: true } }),
  ],
  [
    '[B3] a',
    'tool_result',
    { toolCallId: 'c', status: 'approved' },
    answers({ kind: 'decision', toolCallId: 'c', approved: true }),
  ],
  [
    '[B3a] a',
    'tool_result',
    { toolCallId: 'c', status: 'approved', result: null },
    answers({ kind: 'decision', toolCallId: 'c', approved: true }),
  ],
  [
    '[B3b] a',
    'tool_result',
    { toolCallId: 'c', status: 'approved', result: { track: 1 } },
    answers(
      { kind: 'decision', toolCallId: 'c', approved: true },
      { kind: 'output', toolCallId: 'c', output: { track: 1 } },
    ),
  ],
  [
    '[B3b] a',
    'tool_result',
    { toolCallId: 'c', status: 'approved', error: 'no GPS', result: 1 },
    answers(
      { kind: 'decision', toolCallId: 'c', approved: true },
      { kind: 'failure', toolCallId: 'c', errorText: 'no GPS' },
    ),
  ],
  [
    '[B3b] a',
    'tool_result',
    { toolCallId: 'c', status: 'rejected', result: { track: 1 }, reason: 'too dear' },
    answers({ kind: 'decision', toolCallId: 'c', approved: false, reason: 'too dear' }),
  ],
  [
    '[B3] a',
    'tool_result',
    { toolCallId: 'c', error: 'boom' },
    answers({ kind: 'failure', toolCallId: 'c', errorText: 'boom' }),
  ],
  [
    '[B29] a',
    'audio_control',
    { action: 'start' },
    { type: 'audio_control', action: 'start', detection: 'server' },
  ],
  [
    '[B29] a',
    'audio_control',
    { action: 'start', detection: 'client' },
    { type: 'audio_control', action: 'start', detection: 'client' },
  ],
  [
    '[B4] a',
    'audio_control',
    { action: 'stop' },
    { type: 'audio_control', action: 'stop', detection: 'server' },
  ],
  ['[B4] a', 'audio_chunk', { chunk: base64(1, 2) }, { type: 'audio_chunk', pcm: base64(1, 2) }],
  [
    '[B4] a',
    'audio_chunk',
    { chunk: base64(1, 2, 3, 4), sampleRate: 16_000, channels: 1, bitDepth: 16 },
    { type: 'audio_chunk', pcm: base64(1, 2, 3, 4) },
  ],
  ['[B5] a', 'video_frame', { mediaType: 'image/jpeg', data: jpeg }, { type: 'video_frame', jpeg }],
  ['[B6] a', 'interrupt', {}, { type: 'interrupt', heard: { messageId: undefined, playedMs: undefined } }],
  [
    '[B28] a',
    'interrupt',
    { reason: 'user_abort', messageId: 'm', playedMs: 40, requestId: 'r' },
    { type: 'interrupt', heard: { messageId: 'm', playedMs: 40 }, requestId: 'r' },
  ],
  [
    '[B28] a',
    'interrupt',
    { reason: 'speech', messageId: 'm', playedMs: 40 },
    { type: 'interrupt', heard: { messageId: 'm', playedMs: 40, isSpeech: true } },
  ],
  ['[B7] a', 'ping', {}, { type: 'ping', timestamp: undefined }],
  ['[B7] a', 'ping', { timestamp: 1_763_000_000_000 }, { type: 'ping', timestamp: 1_763_000_000_000 }],
  ['[B7] a', 'ping', { timestamp: 'x' }, { type: 'ping', timestamp: 'x' }],
];

describe('client frames', () => {
  test.each(frames)('%s frame %s %j is read in its envelope and flat', (_rule, type, data, meaning) => {
    expect(readFrame(JSON.stringify({ type, version: '1.0', data }))).toEqual(meaning);
    expect(readFrame(JSON.stringify({ type, data }))).toEqual(meaning);
    expect(readFrame(JSON.stringify({ ...data, type, version: '1.0' }))).toEqual(meaning);
    expect(readFrame(JSON.stringify({ ...data, type }))).toEqual(meaning);
  });

  test.each<[string, string, string]>([
    ['text that is no JSON', '{', 'invalid_frame: A frame must be JSON.'],
    ['an empty frame', '', 'invalid_frame: A frame must be JSON.'],
    ['a number', '5', 'bad_request: A frame must be a JSON object.'],
    ['null', 'null', 'bad_request: A frame must be a JSON object.'],
    ['a list', '[{"type":"ping"}]', 'bad_request: A frame must be a JSON object.'],
    ['no type', '{}', 'bad_request: A frame needs a "type".'],
    ['a type that is a number', '{"type":1}', 'bad_request: A frame needs a "type".'],
    ['an unknown type', '{"type":"tool-result"}', 'unknown_frame: Unknown frame type "tool-result".'],
    [
      'a name of the prototype as type',
      '{"type":"__proto__"}',
      'unknown_frame: Unknown frame type "__proto__".',
    ],
    [
      'another name of the prototype',
      '{"type":"constructor"}',
      'unknown_frame: Unknown frame type "constructor".',
    ],
    [
      'an endless type',
      JSON.stringify({ type: 'x'.repeat(1e5) }),
      `unknown_frame: Unknown frame type "${'x'.repeat(64)}".`,
    ],
    [
      'another version',
      '{"type":"ping","version":"2.0"}',
      'bad_version: Frame version "2.0" is not known; send "1.0".',
    ],
    [
      'a version that is a number',
      '{"type":"ping","version":1}',
      'bad_version: Frame version 1 is not known; send "1.0".',
    ],
  ])('[B1a] %s is refused', (_what, text, error) => {
    expect(refusal(() => readFrame(text))).toBe(error);
  });

  const refused: [string, string, unknown, string][] = [
    ['[B2] no messages', 'message', {}, 'bad_request'],
    ['[B2] an empty list of messages', 'message', { messages: [] }, 'bad_request'],
    ['[B2] messages that are an object', 'message', { messages: {} }, 'bad_request'],
    [
      '[B2] a last message without text',
      'message',
      { messages: [{ role: 'user', content: '' }] },
      'empty_message',
    ],
    ['[B2] a last message that is a number', 'message', { messages: [5] }, 'bad_request'],
    ['[B2] an unknown trigger', 'message', { messages: [message], trigger: 'x' }, 'bad_request'],
    [
      '[B2] [B1b] a message id that is too long',
      'message',
      { messages: [message], messageId: 'x'.repeat(257) },
      'bad_request',
    ],
    ['[B2] data that is a text', 'message', 'hi', 'bad_request'],
    ['[B3] no call id', 'tool_result', { result: {} }, 'bad_request'],
    ['[B3] [B1b] an empty call id', 'tool_result', { toolCallId: '', result: {} }, 'bad_request'],
    [
      '[B3] [B1b] a call id that is too long',
      'tool_result',
      { toolCallId: 'x'.repeat(257), result: {} },
      'bad_request',
    ],
    ['[B3] nothing to say about a call', 'tool_result', { toolCallId: 'c' }, 'bad_request'],
    ['[B3] an unknown status', 'tool_result', { toolCallId: 'c', status: 'maybe' }, 'bad_request'],
    [
      '[B3] a reason that is a number',
      'tool_result',
      { toolCallId: 'c', status: 'approved', reason: 5 },
      'bad_request',
    ],
    ['[B4] no sound', 'audio_chunk', {}, 'bad_request'],
    ['[B4] empty sound', 'audio_chunk', { chunk: '' }, 'bad_request'],
    ['[B4] sound of another rate', 'audio_chunk', { chunk: base64(1, 2), sampleRate: 44_100 }, 'bad_audio'],
    ['[B4] stereo', 'audio_chunk', { chunk: base64(1, 2), channels: 2 }, 'bad_audio'],
    ['[B4] 8 bits', 'audio_chunk', { chunk: base64(1, 2), bitDepth: 8 }, 'bad_audio'],
    ['[B4] half a sample', 'audio_chunk', { chunk: base64(1, 2, 3) }, 'bad_audio'],
    ['[B4] sound that is not base64', 'audio_chunk', { chunk: '****' }, 'bad_audio'],
    ['[B4] base64 that is cut off', 'audio_chunk', { chunk: 'AAA' }, 'bad_audio'],
    [
      '[B4a] more than ten seconds of sound',
      'audio_chunk',
      { chunk: Buffer.alloc(320_002).toString('base64') },
      'too_large',
    ],
    ['[B4] an unknown action', 'audio_control', { action: 'pause' }, 'bad_request'],
    ['[B4] no action', 'audio_control', {}, 'bad_request'],
    [
      '[B5] a picture that is no JPEG',
      'video_frame',
      { mediaType: 'image/jpeg', data: base64(0x89, 0x50, 0x4e) },
      'bad_image',
    ],
    [
      '[B5] a picture that is not base64',
      'video_frame',
      { mediaType: 'image/jpeg', data: '/9j/*' },
      'bad_image',
    ],
    ['[B5] a picture of another type', 'video_frame', { mediaType: 'image/png', data: jpeg }, 'bad_request'],
    [
      '[B5] a picture that is too large',
      'video_frame',
      { mediaType: 'image/jpeg', data: `/9j/${'A'.repeat(7e6)}` },
      'too_large',
    ],
    ['[B6] a reason without end', 'interrupt', { reason: 'x'.repeat(201) }, 'bad_request'],
    ['[B7] a timestamp that is an object', 'ping', { timestamp: {} }, 'bad_request'],
    ['[B7] a timestamp without end', 'ping', { timestamp: 'x'.repeat(65) }, 'bad_request'],
  ];
  test.each(refused)('%s in %s is refused', (_what, type, data, code) => {
    const error = refusal(() => readFrame(JSON.stringify({ type, data })));
    expect(error.slice(0, error.indexOf(':'))).toBe(code);
    expect(error.length).toBeLessThan(200);
  });

  test('[B3] a decision and its reason are bounded like those in a message', () => {
    const frame = readFrame(
      encodeFrame('tool_result', { toolCallId: 'c', status: 'rejected', reason: 'x'.repeat(5_000) }),
    );
    expect(frame).toEqual(
      answers({
        kind: 'decision',
        toolCallId: 'c',
        approved: false,
        reason: 'x'.repeat(LIMITS.reasonLength),
      }),
    );
    const failed = readFrame(encodeFrame('tool_result', { toolCallId: 'c', error: 'x'.repeat(50_000) }));
    expect(failed).toEqual(
      answers({ kind: 'failure', toolCallId: 'c', errorText: 'x'.repeat(LIMITS.errorLength) }),
    );
  });

  test('[B3] a result that nests without end is a failure of the tool', () => {
    const deep = `${'['.repeat(500_000)}${']'.repeat(500_000)}`;
    expect(readFrame(`{"type":"tool_result","toolCallId":"c","result":${deep}}`)).toEqual(
      answers({ kind: 'failure', toolCallId: 'c', errorText: 'The output has more than 100 nested levels' }),
    );
  });

  test('[B1] deep nesting anywhere else does not harm', () => {
    const deep = `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`;
    expect(readFrame(`{"type":"ping","extra":${deep}}`)).toEqual({ type: 'ping', timestamp: undefined });
    expect(refusal(() => readFrame(`{"type":"ping","timestamp":${deep}}`))).toMatch(/^bad_request: /);
    expect(refusal(() => readFrame(`{"type":"message","messages":[${deep}]}`))).toMatch(/^bad_request: /);
    expect(refusal(() => readFrame(deep))).toMatch(/^bad_request: /);
  });

  test('[B1b] keys of the prototype change nothing', () => {
    const text =
      '{"type":"tool_result","__proto__":{"status":"approved"},"constructor":{"prototype":{"x":1}},"data":{"toolCallId":"__proto__","result":{"__proto__":{"admin":true}}}}';
    const frame = readFrame(text);
    expect(JSON.stringify(frame)).toBe(
      '{"type":"answers","answers":[{"kind":"output","toolCallId":"__proto__","output":{"__proto__":{"admin":true}}}]}',
    );
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
    expect(
      refusal(() => readFrame('{"type":"tool_result","toolCallId":"c","__proto__":{"status":"approved"}}')),
    ).toMatch(/^bad_request: /);
  });

  test('[B1] whatever a client sends, it is read or refused with a code', () => {
    const type = fc.constantFrom(
      'message',
      'tool_result',
      'audio_chunk',
      'audio_control',
      'video_frame',
      'interrupt',
      'ping',
      'x',
    );
    const fields = fc.dictionary(
      fc.constantFrom(
        'messages',
        'toolCallId',
        'result',
        'status',
        'chunk',
        'action',
        'data',
        'mediaType',
        'timestamp',
        'reason',
        'error',
        'version',
      ),
      fc.oneof(fc.jsonValue(), fc.constantFrom('approved', 'start', '1.0', 'image/jpeg', jpeg)),
    );
    const frame = fc.oneof(
      fc.string(),
      fc.json(),
      fc.tuple(type, fields).map(([name, data]) => JSON.stringify({ ...data, type: name })),
      fc.tuple(type, fields).map(([name, data]) => JSON.stringify({ type: name, data })),
    );
    fc.assert(
      fc.property(frame, (text) => {
        expect(refusal(() => readFrame(text))).toMatch(/^[a-z_]+: /);
      }),
      { numRuns: 500 },
    );
  });
});

describe('binary frames of a client', () => {
  const audio = (payload: Uint8Array, sampleRate = 16_000) =>
    encodeBinary({ kind: BINARY.audioUp, sampleRate, payload });
  const jpegOf = (size: number) => {
    const bytes = new Uint8Array(size);
    bytes.set([0xff, 0xd8]);
    return bytes;
  };
  const video = (payload: Uint8Array) => encodeBinary({ kind: BINARY.video, sampleRate: 0, payload });

  test('[B8] [C13a] [C13c] sound and pictures are read', () => {
    expect(readBinaryFrame(audio(Uint8Array.of(1, 2)))).toEqual({ type: 'audio', pcm: Uint8Array.of(1, 2) });
    expect(readBinaryFrame(video(Uint8Array.of(0xff, 0xd8, 0xff)))).toEqual({
      type: 'video',
      jpeg: Uint8Array.of(0xff, 0xd8, 0xff),
    });
  });

  test.each<[string, Uint8Array, string]>([
    ['no bytes', new Uint8Array(), 'unknown_frame'],
    [
      'sound that goes the other way',
      encodeBinary({ kind: BINARY.audioDown, sampleRate: 24_000, payload: Uint8Array.of(1, 2) }),
      'unknown_frame',
    ],
    ['an unknown kind', Uint8Array.of(9, 0, 0, 0, 0, 0, 0, 0, 1), 'unknown_frame'],
    ['half a sample', audio(Uint8Array.of(1)), 'bad_audio'],
    ['another rate', audio(Uint8Array.of(1, 2), 24_000), 'bad_audio'],
    ['more than ten seconds', audio(new Uint8Array(320_002)), 'too_large'],
    ['a picture that is no JPEG', video(Uint8Array.of(0x89, 0x50)), 'bad_image'],
    ['a picture that is too large', video(jpegOf(LIMITS.imageBytes + 1)), 'too_large'],
  ])('[B8] %s is refused', (_what, bytes, code) => {
    expect(refusal(() => readBinaryFrame(bytes))).toMatch(new RegExp(`^${code}: `));
  });
});
