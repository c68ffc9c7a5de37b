import { describe, expect, test } from 'vitest';
import { type Chunk, Grammar, type GrammarMode } from '../../src/protocol/index.ts';

const start: Chunk = { type: 'start', messageId: 'm' };
const finish: Chunk = { type: 'finish', finishReason: 'stop' };
const startStep: Chunk = { type: 'start-step' };
const finishStep: Chunk = { type: 'finish-step' };
const ask = (id = 'c'): Chunk => ({ type: 'tool-approval-request', toolCallId: id, approvalId: `a-${id}` });
const asked = (id = 'c'): Chunk[] => [startStep, ask(id), finishStep];
const facts = { runsOn: 'server', asks: true };
const inputStart = (id = 'c'): Chunk => ({
  type: 'tool-input-start',
  toolCallId: id,
  toolName: 'pay',
  toolMetadata: facts,
});
const input = (id = 'c', toolMetadata = facts): Chunk => ({
  type: 'tool-input-available',
  toolCallId: id,
  toolName: 'pay',
  input: {},
  toolMetadata,
});
const tool = (id = 'c'): Chunk[] => [inputStart(id), input(id)];
const output = (id = 'c'): Chunk => ({ type: 'tool-output-available', toolCallId: id, output: {} });
const fail = (id = 'c'): Chunk => ({ type: 'tool-output-error', toolCallId: id, errorText: 'no' });
const denied = (id = 'c'): Chunk => ({ type: 'tool-output-denied', toolCallId: id });
const opened: Chunk = { type: 'text-start', id: 't' };
const delta: Chunk = { type: 'text-delta', id: 't', delta: 'x' };
const closed: Chunk = { type: 'text-end', id: 't' };
const thought: Chunk[] = [
  { type: 'reasoning-start', id: 'r' },
  { type: 'reasoning-delta', id: 'r', delta: 'hm' },
  { type: 'reasoning-end', id: 'r' },
];
const text = (deltas = 1): Chunk[] => [opened, ...Array<Chunk>(deltas).fill(delta), closed];

function check(mode: GrammarMode, chunks: Chunk[]): { wrong: string[]; open: string[] } {
  const grammar = new Grammar(mode);
  const wrong = chunks.flatMap((chunk) => grammar.push(chunk));
  return { wrong: [...wrong, ...grammar.end()], open: grammar.openCalls() };
}

/** The conversations that both modes know, as the orders of their chunks. */
const progress = (id = 'c'): Chunk => ({
  type: 'tool-output-available',
  toolCallId: id,
  output: 1,
  preliminary: true,
});

const accepted: [string, GrammarMode, Chunk[]][] = [
  ['progress', 'sse', [start, ...tool(), progress(), progress(), output(), ...text(), finish]],
  ['progress and a failure', 'bidi', [start, ...tool(), ...asked(), progress(), fail(), ...text(), finish]],
  [
    'progress after an approval',
    'sse',
    [start, ...tool(), ask(), finish, start, progress(), output(), finish],
  ],
  ['a browser tool', 'bidi', [start, ...thought, ...tool(), output(), ...text(4), finish]],
  ['a browser tool', 'sse', [start, ...tool(), output(), ...text(), finish]],
  ['a server tool', 'bidi', [start, ...thought, ...tool(), output(), ...text(7), finish]],
  [
    'an approval',
    'bidi',
    [start, ...thought, ...thought, ...tool(), ...asked(), output(), ...text(3), finish],
  ],
  ['an approval', 'sse', [start, ...tool(), ask(), finish, start, output(), ...text(), finish]],
  ['a denial', 'bidi', [start, ...thought, ...tool(), ...asked(), fail(), ...text(8), finish]],
  ['a denial', 'sse', [start, ...tool(), ask(), finish, start, fail(), ...text(), finish]],
  ['a denial as a state of its own', 'bidi', [start, ...tool(), ...asked(), denied(), ...text(), finish]],
  ['a denial as a state of its own', 'sse', [start, ...tool(), ask(), finish, start, denied(), finish]],
  ['a timeout', 'bidi', [start, ...thought, ...tool(), ...asked(), fail(), ...thought, ...text(7), finish]],
  [
    'two approvals, one after the other',
    'bidi',
    [
      start,
      ...thought,
      ...tool('a'),
      ...asked('a'),
      output('a'),
      ...tool('b'),
      ...asked('b'),
      fail('b'),
      ...text(),
      finish,
    ],
  ],
  [
    'two denials with thoughts between',
    'bidi',
    [
      start,
      ...tool('a'),
      ...asked('a'),
      fail('a'),
      ...thought,
      ...tool('b'),
      ...asked('b'),
      fail('b'),
      ...thought,
      ...text(15),
      finish,
    ],
  ],
  [
    'two approvals together',
    'sse',
    [
      start,
      ...tool('a'),
      ...tool('b'),
      ask('a'),
      ask('b'),
      finish,
      start,
      output('a'),
      fail('b'),
      ...text(),
      finish,
    ],
  ],
  [
    'two approvals together',
    'bidi',
    [
      start,
      ...tool('a'),
      ...tool('b'),
      startStep,
      ask('a'),
      ask('b'),
      finishStep,
      output('b'),
      output('a'),
      finish,
    ],
  ],
  [
    'a plain call beside one that asks',
    'sse',
    [start, ...tool('a'), ...tool('b'), ask('a'), output('b'), finish, start, output('a'), finish],
  ],
  [
    'an approved browser tool that is shown again for its output',
    'sse',
    [start, ...tool(), ask(), finish, start, input(), finish, start, output(), ...text(), finish],
  ],
  [
    'a confirmation as a tool',
    'sse',
    [
      start,
      ...tool('confirmation'),
      finish,
      start,
      output('confirmation'),
      ...tool(),
      output(),
      startStep,
      ...text(),
      finish,
    ],
  ],
  [
    'talk while a card is open',
    'bidi',
    [start, ...tool(), ...asked(), ...text(), finish, start, ...text(), finish, start, output(), finish],
  ],
  [
    'a switch to another message and back',
    'bidi',
    [start, ...text(), { type: 'start', messageId: 'n' }, ...text(), start, ...text(), finish],
  ],
  [
    'two blocks at once',
    'sse',
    [
      start,
      opened,
      { type: 'reasoning-start', id: 'r' },
      delta,
      { type: 'reasoning-end', id: 'r' },
      closed,
      finish,
    ],
  ],
  ['a block id that is used again', 'sse', [start, ...text(), ...text(), finish]],
  ['a call that fails before its input is whole', 'sse', [start, inputStart(), fail(), finish]],
  [
    'an error',
    'sse',
    [start, ...text(), { type: 'error', errorText: 'x' }, { type: 'finish', finishReason: 'error' }],
  ],
  [
    'everything else',
    'sse',
    [
      start,
      { type: 'file', url: '/f', mediaType: 'image/png' },
      { type: 'source-url', sourceId: 's', url: 'u' },
      { type: 'message-metadata', messageMetadata: {} },
      { type: 'data-executable-code', data: { language: 'PYTHON', code: '' } },
      finish,
    ],
  ],
  [
    'transient data anywhere',
    'bidi',
    [
      {
        type: 'data-session',
        transient: true,
        data: {
          sessionId: 's',
          connectionId: 'c',
          epoch: 'e',
          resumed: false,
          newest: 'e-0',
          received: [],
          open: [],
          running: null,
          model: { hears: false, sees: true, speaks: false },
          floor: null,
        },
      },
      start,
      finish,
      {
        type: 'data-pcm',
        transient: true,
        data: { chunk: '', sampleRate: 24_000, channels: 1, bitDepth: 16, messageId: 'm' },
      },
    ],
  ],
  ['nothing', 'sse', []],
];

const rejected: [string, GrammarMode, Chunk[], string[]][] = [
  [
    '[C1] a field of another protocol',
    'sse',
    [start, { type: 'file', url: '/f', mediaType: 'image/png', filename: 'a.png' } as Chunk, finish],
    ['file: has a field "filename"'],
  ],
  [
    '[C1] a field that is missing',
    'sse',
    [start, { type: 'tool-input-start', toolCallId: 'c', toolName: 'pay' }, fail(), finish],
    ['tool-input-start: lacks "toolMetadata"'],
  ],
  [
    '[C10] data with other fields',
    'sse',
    [start, { type: 'data-sound', data: { n: 1, place: 2 } as never, transient: true }, finish],
    [
      'data-sound: lacks "messageId"',
      'data-sound: lacks "sampleRate"',
      'data-sound: lacks "at"',
      'data-sound: has a field "place"',
    ],
  ],
  [
    '[C1] a chunk of another protocol',
    'sse',
    [start, { type: 'abort' }, finish],
    ['abort: is no chunk of this protocol'],
  ],
  [
    '[C1] an input in pieces',
    'sse',
    [start, inputStart(), { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: '{' }, fail(), finish],
    ['tool-input-delta: is no chunk of this protocol'],
  ],
  [
    '[C6a] a chunk before any start',
    'sse',
    [...text(0), start, finish],
    ['text-start: comes before any start', 'text-end: comes before any start'],
  ],
  [
    '[C6a] a chunk after finish',
    'bidi',
    [start, finish, output()],
    [
      'tool-output-available: comes after finish, without a start',
      'tool-output-available: call c was never announced',
    ],
  ],
  ['[C6b] a second finish', 'bidi', [start, finish, finish], ['finish: comes after finish, without a start']],
  ['[C6b] a response without finish', 'sse', [start], ['end: no finish']],
  [
    '[C7] a block that is opened twice',
    'sse',
    [start, opened, opened, closed, finish],
    ['text-start: block t is open already'],
  ],
  [
    '[C7] one id for text and reasoning at once',
    'sse',
    [start, opened, { type: 'reasoning-start', id: 't' }, { type: 'reasoning-end', id: 't' }, finish],
    ['reasoning-start: block t is open already'],
  ],
  ['[C7] a delta of no block', 'sse', [start, delta, finish], ['text-delta: block t is not open']],
  [
    '[C7] a delta after the end',
    'sse',
    [start, ...text(), delta, finish],
    ['text-delta: block t is not open'],
  ],
  ['[C7] an end of no block', 'sse', [start, closed, finish], ['text-end: block t is not open']],
  [
    '[C7] a block that is ended as another kind',
    'sse',
    [start, opened, { type: 'reasoning-end', id: 't' }, closed, finish],
    ['reasoning-end: block t is not open'],
  ],
  [
    '[C7a] a block that is open at a request',
    'sse',
    [start, ...tool(), opened, ask(), closed, finish],
    ['tool-approval-request: text blocks still open: t'],
  ],
  [
    '[C7a] a block that is open when the browser is asked',
    'bidi',
    [start, opened, inputStart(), input('c', { runsOn: 'client', asks: false }), closed, output(), finish],
    ['tool-input-available: text blocks still open: t'],
  ],
  [
    '[C7a] a block that is open at the next message',
    'bidi',
    [start, opened, start, closed, finish],
    ['start: text blocks still open: t'],
  ],
  [
    '[C7a] a block that is open at finish',
    'sse',
    [start, opened, finish],
    ['finish: text blocks still open: t', 'end: text blocks still open: t'],
  ],
  [
    '[C8] a request outside a step, in BIDI',
    'bidi',
    [start, ...tool(), ask(), finish],
    ['tool-approval-request: is outside a step'],
  ],
  [
    '[C8a] a request inside a step, in SSE',
    'sse',
    [start, ...tool(), startStep, ask(), finish],
    ['tool-approval-request: is in a later step than its call'],
  ],
  [
    '[C8a] the end of a step, in SSE',
    'sse',
    [start, startStep, finishStep, finish],
    ['finish-step: SSE carries no finish-step'],
  ],
  ['[C8] the end of no step', 'bidi', [start, finishStep, finish], ['finish-step: no step is open']],
  [
    '[C8] a step that asks nothing',
    'bidi',
    [start, startStep, finishStep, finish],
    ['finish-step: the step asked for no approval'],
  ],
  [
    '[C8] a step in a step',
    'bidi',
    [start, ...tool(), startStep, startStep, ask(), finishStep, fail(), finish],
    ['start-step: a step is open already'],
  ],
  [
    '[C8] text in the step of a request',
    'bidi',
    [start, ...tool(), startStep, ask(), opened, closed, finishStep, finish],
    [
      'text-start: is inside the step of an approval request',
      'text-end: is inside the step of an approval request',
    ],
  ],
  [
    '[C8] a message that begins in a step',
    'bidi',
    [start, ...tool(), startStep, ask(), start, finishStep, finish],
    ['start: a step is still open'],
  ],
  [
    '[C8] a turn that ends in a step',
    'bidi',
    [start, ...tool(), startStep, ask(), finish],
    ['finish: is inside the step of an approval request'],
  ],
  [
    '[C9] a call that begins twice',
    'sse',
    [start, ...tool(), inputStart(), output(), finish],
    ['tool-input-start: call c is known already'],
  ],
  [
    '[C9] an input without beginning',
    'sse',
    [start, input(), finish],
    ['tool-input-available: call c was never announced'],
  ],
  [
    '[C9b] an input that comes twice',
    'sse',
    [start, ...tool(), input(), output(), finish],
    ['tool-input-available: call c is input-available'],
  ],
  [
    '[C9] an input of an earlier step',
    'sse',
    [start, inputStart(), startStep, input(), output(), finish],
    ['tool-input-available: call c is of an earlier step'],
  ],
  [
    '[C9] a request without input',
    'sse',
    [start, inputStart(), ask(), finish],
    ['tool-approval-request: call c is input-streaming'],
  ],
  [
    '[C9] a request for no call',
    'sse',
    [start, ask(), finish],
    ['tool-approval-request: call c was never announced'],
  ],
  [
    '[C9] a request that comes twice',
    'sse',
    [start, ...tool(), ask(), ask(), finish],
    ['tool-approval-request: call c is approval-requested'],
  ],
  [
    '[C9] an output without input',
    'sse',
    [start, inputStart(), output(), finish],
    ['tool-output-available: call c is input-streaming'],
  ],
  [
    '[C9] an output that comes twice',
    'sse',
    [start, ...tool(), output(), output(), finish],
    ['tool-output-available: call c is output-available'],
  ],
  [
    '[T40] progress after the output',
    'sse',
    [start, ...tool(), output(), progress(), finish],
    ['tool-output-available: call c is output-available'],
  ],
  [
    '[T40] progress before the input',
    'sse',
    [start, inputStart(), progress(), fail(), finish],
    ['tool-output-available: call c is input-streaming'],
  ],
  [
    '[C9] an output after a failure',
    'sse',
    [start, ...tool(), fail(), output(), finish],
    ['tool-output-available: call c is output-error'],
  ],
  [
    '[C9] a failure after an output',
    'bidi',
    [start, ...tool(), output(), fail(), finish],
    ['tool-output-error: call c is output-available'],
  ],
  [
    '[C9] a denial that nobody was asked for',
    'sse',
    [start, ...tool(), denied(), finish],
    ['tool-output-denied: call c is input-available'],
  ],
  [
    '[C9a] an input that JSON dropped',
    'sse',
    [start, inputStart(), { ...input(), input: undefined } as Chunk, output(), finish],
    ['tool-input-available: lacks "input"'],
  ],
  [
    '[C9a] an output that JSON dropped',
    'sse',
    [start, ...tool(), { ...output(), output: undefined } as Chunk, finish],
    ['tool-output-available: lacks "output"'],
  ],
  [
    '[C10] sound that would be kept',
    'bidi',
    [
      start,
      {
        type: 'data-pcm',
        data: { chunk: '', sampleRate: 24_000, channels: 1, bitDepth: 16, messageId: 'm' },
      },
      finish,
    ],
    ['data-pcm: must be transient'],
  ],
];

describe('the order of chunks', () => {
  test.each(accepted)('[C6] [C7] [C8] [C9] %s over %s is accepted', (_what, mode, chunks) => {
    expect(check(mode, chunks).wrong).toEqual([]);
  });

  test.each(rejected)('%s, over %s, is noticed', (_what, mode, chunks, wrong) => {
    expect(check(mode, chunks).wrong).toEqual(wrong);
  });

  test('[T40] a call with a preliminary output is not settled', () => {
    expect(check('sse', [start, ...tool(), progress(), finish]).open).toEqual(['c']);
  });

  test('[C9] the calls that are not settled are known at any time', () => {
    expect(
      check('sse', [start, ...tool('a'), ...tool('b'), ...tool('c'), output('a'), ask('b'), finish]).open,
    ).toEqual(['b', 'c']);
  });
});
