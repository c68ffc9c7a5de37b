import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  BINARY,
  type Block,
  BlockDecoder,
  type Chunk,
  DONE,
  decodeBinary,
  encodeBinary,
  encodeBlock,
  encodeFrame,
  formatChunkId,
  KEEP_ALIVE,
  parseChunkId,
  readFrame,
} from '../../src/protocol/index.ts';

/** Any UTF-16 text, lone surrogates and line separators included. */
const anyText = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((n) => String.fromCharCode(n)) });
const hardText = fc.oneof(
  anyText,
  fc.constantFrom(
    '',
    '\u2028\u2029',
    '\ud800',
    '\udc00x',
    'a\r\nb\n\nc\rd',
    'data: x\n\n',
    '"\\',
    '💸 花子',
    '\0',
  ),
);

const chunk: fc.Arbitrary<Chunk> = fc.oneof(
  fc.record({ type: fc.constant('text-delta'), id: hardText, delta: hardText }),
  fc.record({ type: fc.constant('reasoning-delta'), id: hardText, delta: hardText }),
  fc.record({ type: fc.constant('tool-output-available'), toolCallId: hardText, output: fc.jsonValue() }),
  fc.record({ type: fc.constant('error'), errorText: hardText }),
  fc.record({
    type: fc.constant('text-delta'),
    id: hardText,
    delta: hardText,
    providerMetadata: fc.constant({ google: { thoughtSignature: 'x' } }),
  }),
) as fc.Arbitrary<Chunk>;

const chunkId = fc.record({ epoch: fc.uuid(), seq: fc.nat() });

/** Cuts a text at the given places, whatever they are. */
function cutAt(text: string, places: number[]): string[] {
  const ends = [...places.map((place) => place % (text.length + 1)), text.length].sort((a, b) => a - b);
  return ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end));
}

function decode(pieces: string[]): Block[] {
  const decoder = new BlockDecoder();
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()];
}

describe('blocks', () => {
  test('[C2] what is encoded is decoded again, in whatever pieces it arrives', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(chunk, fc.option(chunkId, { nil: undefined })), { maxLength: 8 }),
        fc.array(fc.nat(), { maxLength: 20 }),
        (sent, places) => {
          const text = sent
            .map(([value, id]) => encodeBlock(value, id && formatChunkId(id)))
            .join(KEEP_ALIVE);
          const blocks = decode(cutAt(text, places));
          expect(blocks.map((block) => [JSON.parse(block.data), block.id])).toEqual(
            sent.map(([value, id]) => [JSON.parse(JSON.stringify(value)), id && formatChunkId(id)]),
          );
        },
      ),
    );
  });

  test('[C2] a block is an optional id line, one data line and an empty line', () => {
    fc.assert(
      fc.property(chunk, (value) => {
        expect(encodeBlock(value)).toBe(`data: ${JSON.stringify(value)}\n\n`);
        expect(encodeBlock(value, 'e-7')).toBe(`id: e-7\ndata: ${JSON.stringify(value)}\n\n`);
        expect(encodeBlock(value)).not.toMatch(/[\r\n](?!\n?$)/);
      }),
    );
  });

  test('[C4] pieces and line ends do not change what is read', () => {
    const fields = fc.constantFrom(
      'data: a',
      'data:b',
      'data:',
      'data:  c',
      'id: e-1',
      ': note',
      'event: x',
      'odd',
      '',
    );
    fc.assert(
      fc.property(
        fc.array(fields, { maxLength: 20 }),
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.array(fc.nat(), { maxLength: 20 }),
        (lines, end, places) => {
          const whole = decode([`${lines.join('\n')}\n\n`]);
          expect(decode(cutAt(`${lines.join(end)}${end}${end}`, places))).toEqual(whole);
        },
      ),
    );
  });

  test.each<[string, string, Block[]]>([
    ['several data lines are one text', 'data: a\ndata:b\ndata:\n\n', [{ id: undefined, data: 'a\nb\n' }]],
    ['one space after the colon belongs to the syntax', 'data:  a \n\n', [{ id: undefined, data: ' a ' }]],
    ['an id is read before or after the data', 'data: a\nid: x-1\n\n', [{ id: 'x-1', data: 'a' }]],
    [
      'an id holds for its own block',
      'id: x-1\ndata: a\n\ndata: b\n\n',
      [
        { id: 'x-1', data: 'a' },
        { id: undefined, data: 'b' },
      ],
    ],
    ['an id without data is no block', 'id: x-1\n\ndata: b\n\n', [{ id: undefined, data: 'b' }]],
    [
      'comments and unknown fields are passed over',
      `${KEEP_ALIVE}event: x\nretry: 5\n: c\ndata: a\n\n`,
      [{ id: undefined, data: 'a' }],
    ],
    ['empty lines between blocks mean nothing', '\n\n\ndata: a\n\n\n\n', [{ id: undefined, data: 'a' }]],
    [
      'carriage returns may mix with line feeds',
      'data: a\r\n\rdata: b\n\r\n',
      [
        { id: undefined, data: 'a' },
        { id: undefined, data: 'b' },
      ],
    ],
    ['the end of a turn is a block', DONE, [{ id: undefined, data: '[DONE]' }]],
    [
      'other line separators are text',
      'data: a\u2028b\u0085c\n\n',
      [{ id: undefined, data: 'a\u2028b\u0085c' }],
    ],
    ['half a block is dropped', 'data: a\n\ndata: {"type":"te', [{ id: undefined, data: 'a' }]],
    ['a block without its empty line is dropped', 'data: a\n', []],
  ])('[C4a] [C4b] %s', (_what, text, blocks) => {
    expect(decode([text])).toEqual(blocks);
    expect(decode([...text])).toEqual(blocks);
  });

  test('[C4b] a decoder that has ended begins anew', () => {
    const decoder = new BlockDecoder();
    decoder.push('id: x-1\ndata: half\r');
    expect(decoder.end()).toEqual([]);
    expect(decoder.push('\ndata: whole\n\n')).toEqual([{ id: undefined, data: 'whole' }]);
  });

  test('[C5b] the end of a turn and the keep-alive comment have one spelling', () => {
    expect([DONE, KEEP_ALIVE]).toEqual(['data: [DONE]\n\n', ': keep-alive\n\n']);
    expect(decode([KEEP_ALIVE, DONE, KEEP_ALIVE])).toEqual([{ id: undefined, data: '[DONE]' }]);
  });
});

describe('the work of decoding', () => {
  afterEach(() => vi.restoreAllMocks());

  /** How many characters the searching methods of strings looked at while `run` ran. */
  function searched(run: () => void): number {
    let count = 0;
    for (const name of ['indexOf', 'includes', 'replace', 'split', 'search', 'match', 'trimEnd'] as const) {
      const original = String.prototype[name] as (this: string, ...args: unknown[]) => unknown;
      vi.spyOn(String.prototype, name).mockImplementation(function (this: string, ...args: unknown[]) {
        const result = original.apply(this, args);
        const from = name === 'indexOf' ? Number(args[1] ?? 0) : 0;
        const to = name === 'indexOf' && typeof result === 'number' && result >= 0 ? result + 1 : this.length;
        count += to - from;
        return result as never;
      } as never);
    }
    run();
    vi.restoreAllMocks();
    return count;
  }

  test.each([
    ['one huge block in pieces of one character', `data: ${'x'.repeat(200_000)}\n\n`, 1],
    ['one huge block in pieces of a thousand', `data: ${'x'.repeat(200_000)}\n\n`, 1_000],
    ['many small blocks in one piece', 'data: x\n\n'.repeat(20_000), 1e9],
    ['carriage returns before a far line feed', `${'data: x\r\r'.repeat(20_000)}\n`, 1e9],
  ])('[C4] grows with the text alone: %s', (_what, text, size) => {
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
      text.slice(i * size, (i + 1) * size),
    );
    const decoder = new BlockDecoder();
    let blocks = 0;
    const work = searched(() => {
      for (const piece of pieces) blocks += decoder.push(piece).length;
    });
    expect(blocks).toBeGreaterThan(0);
    expect(work).toBeLessThanOrEqual(3 * text.length);
  });
});

describe('chunk ids', () => {
  test('[C3] an id is read as it was written', () => {
    fc.assert(
      fc.property(chunkId, (id) => {
        expect(parseChunkId(formatChunkId(id))).toEqual(id);
      }),
    );
  });

  test.each([
    '',
    '-',
    '-1',
    'e',
    'e-',
    'e- 1',
    'e-1 ',
    'e-01',
    'e--1x',
    'e-1.5',
    'e-1e3',
    'e-0x1',
    'e-NaN',
    'e-9007199254740993',
    'e-99999999999999999999',
    'e\n-1',
    `${'e'.repeat(300)}-1`,
  ])('[C3] %j is no chunk id', (text) => {
    expect(parseChunkId(text)).toBe(null);
  });

  test('[C3] an epoch may contain dashes', () => {
    expect(parseChunkId('a-b--3')).toEqual({ epoch: 'a-b-', seq: 3 });
  });
});

describe('binary frames', () => {
  const fields = {
    sampleRate: fc.integer({ min: 0, max: 0xffffffff }),
    payload: fc.uint8Array({ minLength: 1, maxLength: 64 }),
  };
  const frame = fc.oneof(
    fc.record({ kind: fc.constantFrom(BINARY.audioUp, BINARY.video), ...fields }),
    fc.record({
      kind: fc.constant(BINARY.audioDown),
      utterance: fc.integer({ min: 0, max: 0xffffff }),
      ...fields,
    }),
  );

  test('[C13] a binary frame is read as it was written, wherever it lies in memory', () => {
    fc.assert(
      fc.property(frame, fc.nat(9), (sent, offset) => {
        const bytes = encodeBinary(sent);
        const memory = new Uint8Array(offset + bytes.byteLength + 3);
        memory.set(bytes, offset);
        const read = decodeBinary(memory.subarray(offset, offset + bytes.byteLength));
        expect(read).toEqual(sent);
        expect(read?.payload.buffer).toBe(memory.buffer);
      }),
    );
  });

  test('[C13b] the header is kind, three zero bytes and the sample rate with its lowest byte first', () => {
    expect([
      ...encodeBinary({ kind: BINARY.audioDown, sampleRate: 24_000, payload: Uint8Array.of(7, 9) }),
    ]).toEqual([2, 0, 0, 0, 0xc0, 0x5d, 0, 0, 7, 9]);
    expect(BINARY).toEqual({ audioUp: 1, audioDown: 2, video: 3 });
  });

  test.each([
    ['empty', []],
    ['a header without payload', [1, 0, 0, 0, 0, 0, 0, 0]],
    ['of kind 0', [0, 0, 0, 0, 0, 0, 0, 0, 1]],
    ['of kind 4', [4, 0, 0, 0, 0, 0, 0, 0, 1]],
  ])('[C13a] bytes that are %s are no binary frame', (_what, bytes) => {
    expect(decodeBinary(Uint8Array.from(bytes))).toBe(null);
  });
});

test('[B1] a frame is written in the envelope that is read', () => {
  expect(encodeFrame('ping', { timestamp: 5 })).toBe(
    '{"type":"ping","version":"1.0","data":{"timestamp":5}}',
  );
  fc.assert(
    fc.property(hardText, fc.jsonValue(), (text, result) => {
      const toolCallId = `c${text.slice(0, 100)}`;
      expect(readFrame(encodeFrame('tool_result', { toolCallId, result }))).toEqual({
        type: 'answers',
        answers: [{ kind: 'output', toolCallId, output: JSON.parse(JSON.stringify(result)) }],
      });
    }),
  );
});
