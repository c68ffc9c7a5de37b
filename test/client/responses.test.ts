import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Pending,
  type ReadOptions,
  type ResponseSink,
  Responses,
} from '../../src/client/responses/index.ts';
import { ToolCalls } from '../../src/client/tool-calls.ts';
import { type Chunk, type Message, MessageFold } from '../../src/protocol/index.ts';
import { type Act, conversation } from '../protocol/support/conversation.ts';
import { announce, ask, LOCATE, MUSIC, PAY, text, WEATHER } from './support/server.ts';

const START: Chunk = { type: 'start', messageId: 'm1' };
const FINISH: Chunk = { type: 'finish' };

/** What happened to the responses, which have numbers here, and which messages wait for a reader. */
type ResponseOutput =
  | { type: 'chunk'; response: number; chunk: Chunk }
  | { type: 'end'; response: number }
  | ({ type: 'pending' } & Pending);

/** `Responses` whose methods return what they did. */
class Recorded {
  readonly responses: Responses;
  readonly #sinks = new Map<number, ResponseSink>();
  #outputs: ResponseOutput[] = [];

  constructor(...options: ConstructorParameters<typeof Responses>) {
    this.responses = new Responses(...options);
  }

  expect(response: number, requestId: string): void {
    this.responses.expect(this.#sink(response), requestId);
  }

  accept = (requestId: string, messageId: string) =>
    this.#record(() => this.responses.accept(requestId, messageId));

  open = (response: number, messageId: string, options?: ReadOptions) =>
    this.#record(() => this.responses.read(this.#sink(response), messageId, options));

  receive = (chunk: Chunk) => this.#record(() => this.responses.receive(chunk));

  endTurn = () => this.#record(() => this.responses.endTurn());

  endFrame = () =>
    this.#record(() => {
      for (const pending of this.responses.endFrame()) this.#outputs.push({ type: 'pending', ...pending });
    });

  reset = (messages: Message[]) => this.#record(() => this.responses.reset(messages));

  end = () => this.#record(() => this.responses.end());

  leave(response: number): void {
    this.responses.leave(this.#sink(response));
  }

  takeBuffered = (messageId: string) => this.responses.takeBuffered(messageId);

  isBuffered = (messageId: string) => this.responses.isBuffered(messageId);

  get unread(): string | null {
    return this.responses.unread;
  }

  get isAtRest(): boolean {
    return this.responses.isAtRest;
  }

  #sink(response: number): ResponseSink {
    const known = this.#sinks.get(response) ?? {
      write: (chunk) => void this.#outputs.push({ type: 'chunk', response, chunk }),
      end: () => void this.#outputs.push({ type: 'end', response }),
    };
    this.#sinks.set(response, known);
    return known;
  }

  #record(work: () => void): ResponseOutput[] {
    this.#outputs = [];
    work();
    return this.#outputs;
  }
}

function machine(runs: string[] = []): {
  responses: Recorded;
  calls: ToolCalls;
  decide: (toolCallId: string, approved: boolean) => void;
} {
  const calls = new ToolCalls(runs);
  const responses = new Recorded(calls);
  const decide = (toolCallId: string, approved: boolean) => {
    calls.markSent([{ toolCallId, state: 'approval-responded', approval: { approved } }]);
  };
  return { calls, responses, decide };
}

/** A response waits for the message that answers a request. */
function awaits(responses: Recorded, response: number, messageId: string): void {
  const requestId = `request-${response}`;
  responses.expect(response, requestId);
  responses.accept(requestId, messageId);
}

/** Pushes chunks, null for the end of a turn, then lets them rest. */
function say(responses: Recorded, ...chunks: (Chunk | null)[]): ResponseOutput[] {
  return [
    ...chunks.flatMap((chunk) => (chunk ? responses.receive(chunk) : responses.endTurn())),
    ...responses.endFrame(),
  ];
}

const given = (response: number, ...chunks: Chunk[]): ResponseOutput[] =>
  chunks.map((chunk) => ({ type: 'chunk', response, chunk }));

describe('responses', () => {
  test('[B12a] the steps around an approval request are not shown, and the response ends after them', () => {
    const { responses } = machine();
    awaits(responses, 1, 'm1');
    const input = announce('c1', 'pay', {}, PAY);
    const [step, request, finish] = ask('c1') as [Chunk, Chunk, Chunk];
    expect(say(responses, START, ...input)).toEqual(given(1, START, ...input));
    expect(say(responses, step)).toEqual([]);
    expect(say(responses, request)).toEqual(given(1, request));
    expect(say(responses, finish)).toEqual([{ type: 'end', response: 1 }]);
  });

  test('a step that asks nothing is shown', () => {
    const { responses } = machine();
    awaits(responses, 1, 'm1');
    const step: Chunk = { type: 'start-step' };
    expect(say(responses, START, step, step, ...text('t', 'x'))).toEqual(
      given(1, START, step, step, ...text('t', 'x')),
    );
  });

  test('a call of the browser that nobody runs here ends the response, one that somebody runs does not', () => {
    const input = announce('c1', 'music', {}, MUSIC);
    for (const runs of [[], ['music']]) {
      const { responses } = machine(runs);
      awaits(responses, 1, 'm1');
      expect(say(responses, START, ...input).at(-1)?.type).toBe(runs.length === 0 ? 'end' : 'chunk');
    }
  });

  test('[B12d] the call of an agent that waits for a card inside it does not keep a response open, another agent does', () => {
    const agent = { runsOn: 'server', asks: false } as const;
    const outer = announce('c1', 'banker', {}, agent);
    const inner = announce('c2', 'teller', {}, { ...agent, agents: ['assistant', 'banker'], within: 'c1' });
    const pay = announce(
      'c3',
      'pay',
      {},
      { ...PAY, agents: ['assistant', 'banker', 'teller'], within: 'c2' },
    );
    for (const others of [[], announce('c4', 'clerk', {}, agent)]) {
      const { responses, decide } = machine();
      awaits(responses, 1, 'm1');
      const chunks = say(responses, START, ...others, ...outer, ...inner, ...pay, ...ask('c3'));
      expect(chunks.at(-1)?.type).toBe(others.length === 0 ? 'end' : 'chunk');
      expect(responses.isAtRest).toBe(others.length === 0);
      if (others.length > 0) continue;
      // After the decision the agent works again, so the next response stays open until the agent has ended.
      decide('c3', true);
      responses.open(2, 'm1', { expects: true });
      const ends = ['c3', 'c2', 'c1'].map(
        (toolCallId) => say(responses, { type: 'tool-output-available', toolCallId, output: 1 }).at(-1)?.type,
      );
      expect(ends).toEqual(['chunk', 'chunk', 'chunk']);
      expect(say(responses, FINISH, null).at(-1)).toEqual({ type: 'end', response: 2 });
    }
  });

  test('a response waits for a server call that runs beside a card', () => {
    const { responses } = machine();
    awaits(responses, 1, 'm1');
    const both = [...announce('w', 'weather', {}, WEATHER), ...announce('c1', 'pay', {}, PAY), ...ask('c1')];
    expect(say(responses, START, ...both).some(({ type }) => type === 'end')).toBe(false);
    const output: Chunk = { type: 'tool-output-available', toolCallId: 'w', output: 1 };
    expect(say(responses, output)).toEqual([...given(1, output), { type: 'end', response: 1 }]);
  });

  test('what comes at a pause waits, and is told once for each frame', () => {
    const { responses } = machine();
    awaits(responses, 1, 'm1');
    say(responses, START, ...announce('c1', 'pay', {}, PAY), ...ask('c1'));
    const [start, first, second, end] = text('t', 'It ', 'expired.') as [Chunk, Chunk, Chunk, Chunk];
    expect(say(responses, start, first)).toEqual([{ type: 'pending', messageId: 'm1', isNew: false }]);
    expect(say(responses)).toEqual([]);
    expect(say(responses, second)).toEqual([{ type: 'pending', messageId: 'm1', isNew: false }]);
    const [, whole] = text('t', 'It expired.');
    expect(responses.open(2, 'm1')).toEqual(given(2, START, start, whole as Chunk));
    expect(say(responses, end)).toEqual([...given(2, end), { type: 'end', response: 2 }]);
  });

  test('a reader of a message that is over, or that waits for the person, gets its end at once', () => {
    const { responses } = machine();
    expect(responses.open(1, 'old')).toEqual([
      ...given(1, { type: 'start', messageId: 'old' }),
      { type: 'end', response: 1 },
    ]);
    awaits(responses, 2, 'm1');
    say(responses, START, ...announce('c1', 'pay', {}, PAY), ...ask('c1'));
    expect(responses.open(3, 'm1').at(-1)).toEqual({
      type: 'end',
      response: 3,
    });
  });

  test('a second reader of a message takes the place of the first', () => {
    const { responses } = machine();
    awaits(responses, 1, 'm1');
    say(responses, START, { type: 'text-start', id: 't' });
    expect(responses.open(2, 'm1')).toEqual([
      ...given(1, { type: 'text-end', id: 't' }),
      { type: 'end', response: 1 },
      ...given(2, START),
    ]);
    expect(
      say(responses, { type: 'text-delta', id: 't', delta: 'x' }, { type: 'text-end', id: 't' }),
    ).toEqual(
      given(
        2,
        { type: 'text-start', id: 't' },
        { type: 'text-delta', id: 't', delta: 'x' },
        { type: 'text-end', id: 't' },
      ),
    );
  });

  test('the end of a block that the reader never saw begin is left out', () => {
    const { responses } = machine();
    awaits(responses, 1, 'm1');
    say(responses, START, { type: 'reasoning-start', id: 'r' });
    responses.leave(1);
    responses.open(2, 'm1');
    expect(say(responses, { type: 'reasoning-end', id: 'r' }, FINISH, null)).toEqual([
      ...given(2, FINISH),
      { type: 'end', response: 2 },
    ]);
  });

  test('chunks of another message go to its own reader', () => {
    const { responses } = machine();
    awaits(responses, 1, 'm1');
    say(responses, START, ...announce('c1', 'pay', {}, PAY), ...ask('c1'));
    awaits(responses, 2, 'm2');
    const second: Chunk = { type: 'start', messageId: 'm2' };
    const output: Chunk = { type: 'tool-output-error', toolCallId: 'c1', errorText: 'late' };
    expect(say(responses, second, START, output, second, ...text('t', 'x'), FINISH, null)).toEqual([
      ...given(2, second, second, ...text('t', 'x'), FINISH),
      { type: 'end', response: 2 },
      { type: 'pending', messageId: 'm1', isNew: false },
    ]);
    expect(responses.takeBuffered('m1')).toEqual([output]);
  });

  test('a message that nobody waits for is kept whole, and read from its start', () => {
    const { responses } = machine();
    expect([responses.unread, say(responses, START)]).toEqual([null, []]);
    expect(say(responses, ...text('t', 'x'))).toEqual([{ type: 'pending', messageId: 'm1', isNew: true }]);
    expect(responses.unread).toBe('m1');
    expect(responses.open(1, 'm1')).toEqual(given(1, START, START, ...text('t', 'x')));
    expect([responses.unread, responses.isBuffered('m1')]).toEqual([null, false]);
  });

  test('a message that began before its request was known to be accepted is read from its start', () => {
    const { responses } = machine();
    responses.expect(1, 'r');
    // No reader gets it: it may be the response that the request waits for.
    expect(say(responses, START, ...text('t', 'x'))).toEqual([]);
    expect(responses.accept('r', 'm1')).toEqual(given(1, START, ...text('t', 'x')));
  });

  test('a reset ends what it holds, and leaves what has not begun to those who wait for it', () => {
    const { responses } = machine();
    awaits(responses, 1, 'm1');
    say(responses, START, { type: 'text-start', id: 't' });
    awaits(responses, 2, 'm2');
    responses.expect(3, 'r3');
    expect(responses.reset([])).toEqual([
      ...given(1, { type: 'text-end', id: 't' }),
      { type: 'end', response: 1 },
    ]);
    const second: Chunk = { type: 'start', messageId: 'm2' };
    expect(say(responses, second)).toEqual(given(2, second));
    responses.leave(3);
    // What the reset does not hold is new when it comes.
    expect(say(responses, START, ...text('t', 'x'))).toEqual([
      { type: 'pending', messageId: 'm1', isNew: true },
    ]);
  });

  test('a message that the page has from elsewhere goes on where it is', () => {
    const responses = new Recorded(new ToolCalls([]), (messageId) => messageId === 'm1');
    expect(say(responses, START, ...text('t', 'x'))).toEqual([
      { type: 'pending', messageId: 'm1', isNew: false },
    ]);
    expect(responses.takeBuffered('m1')).toEqual(text('t', 'x'));
  });

  test('a call that the server says it waits for is open, wherever its message came from', () => {
    const { calls } = machine();
    calls.setAwaited([{ toolCallId: 'c1', messageId: 'm1', waitsFor: 'person' }]);
    expect([calls.isOpen('c1'), calls.isOpen('c2')]).toEqual([true, false]);
  });

  test('a decision counts as sent in a message of the server, and not in one that only the page shows', () => {
    const part = {
      type: 'tool-pay' as const,
      toolCallId: 'c1',
      state: 'approval-responded' as const,
      input: {},
      approval: { id: 'a1', approved: true },
    };
    const message: Message = { id: 'm1', role: 'assistant', parts: [part] };
    const wasSent = (from: 'reset' | 'server' | 'page') => {
      const calls = new ToolCalls([]);
      calls.adopt(message, from);
      return [calls.wasSent('c1', 'decision'), calls.get('c1')?.state];
    };
    expect([wasSent('page'), wasSent('server'), wasSent('reset')]).toEqual([
      [false, 'approval-responded'],
      [true, 'approval-responded'],
      [true, 'approval-responded'],
    ]);
  });

  test('[T40] a call with a preliminary output is open in a message that the page got from elsewhere', () => {
    const preliminary = { state: 'output-available' as const, output: 1, preliminary: true, input: {} };
    const approval = { id: 'a1', approved: true as const };
    const parts = [
      { type: 'tool-pay' as const, toolCallId: 'c1', ...preliminary },
      { type: 'tool-pay' as const, toolCallId: 'c2', ...preliminary, approval },
    ];
    const calls = new ToolCalls([]);
    calls.adopt({ id: 'm1', role: 'assistant', parts }, 'server');
    expect(calls.open().map(({ id, state }) => [id, state])).toEqual([
      ['c1', 'input-available'],
      ['c2', 'approval-responded'],
    ]);
  });

  test('all is at rest when nothing is kept, and nothing comes before someone answers', () => {
    const { responses } = machine();
    const seen = [responses.isAtRest];
    const saying = (...chunks: (Chunk | null)[]) => {
      say(responses, ...chunks);
      seen.push(responses.isAtRest);
    };
    awaits(responses, 1, 'm1');
    saying(START);
    saying(...announce('c1', 'pay', {}, PAY), ...ask('c1'));
    saying({ type: 'tool-output-available', toolCallId: 'c1', output: 1 });
    responses.takeBuffered('m1');
    saying(FINISH, null);
    responses.takeBuffered('m1');
    seen.push(responses.isAtRest);
    expect(seen).toEqual([true, false, true, false, false, true]);
  });

  test('the end of a turn that crosses an answer does not end the response to it', () => {
    const { responses, decide } = machine();
    awaits(responses, 1, 'm1');
    say(responses, START, ...announce('c1', 'pay', {}, PAY), ...ask('c1'));
    decide('c1', true);
    responses.open(2, 'm1', { expects: true });
    expect(say(responses, FINISH, null)).toEqual(given(2, FINISH));
    const output: Chunk = { type: 'tool-output-available', toolCallId: 'c1', output: 1 };
    expect(say(responses, START, output, FINISH, null)).toEqual([
      ...given(2, START, output, { type: 'start-step' }, FINISH),
      { type: 'end', response: 2 },
    ]);
  });

  test('the end of a part that was not read yet is not the end of the part that an answer asks for', () => {
    const { responses, decide } = machine();
    awaits(responses, 1, 'm1');
    say(responses, START, ...announce('c1', 'pay', {}, PAY), ...ask('c1'));
    const messageMetadata = { usage: null };
    // The card, its end and what follows come in pieces, and the person is faster.
    say(responses, { type: 'finish', messageMetadata });
    decide('c1', true);
    const opened = responses.open(2, 'm1', { expects: true });
    expect(opened).toEqual(given(2, START, { type: 'message-metadata', messageMetadata }));
    expect(say(responses, null)).toEqual([]);
    const output: Chunk = { type: 'tool-output-available', toolCallId: 'c1', output: 'paid' };
    expect(say(responses, START, output)).toEqual(given(2, START, output));
    expect(say(responses, FINISH, null)).toEqual([
      ...given(2, { type: 'start-step' }, FINISH),
      { type: 'end', response: 2 },
    ]);
  });

  test('an approved call that the page must run is shown again only when the page asks', () => {
    const { responses, decide } = machine();
    awaits(responses, 1, 'm1');
    const [, input] = announce('c1', 'locate', { exact: true }, LOCATE);
    say(responses, START, ...announce('c1', 'locate', { exact: true }, LOCATE), ...ask('c1'));
    decide('c1', true);
    const open = (response: number, more: { expects?: boolean; repeats?: string[] }) =>
      responses.open(response, 'm1', more);
    expect(open(2, { expects: true })).toEqual([...given(2, START), { type: 'end', response: 2 }]);
    expect(open(3, { repeats: ['c1'] })).toEqual([
      ...given(3, START, input as Chunk),
      { type: 'end', response: 3 },
    ]);
  });

  test('a step ends for the page when its calls are settled and something follows, and not before', () => {
    const { responses, decide } = machine();
    const step: Chunk = { type: 'start-step' };
    const output = (toolCallId: string): Chunk => ({ type: 'tool-output-available', toolCallId, output: 1 });
    awaits(responses, 1, 'm1');
    const weather = [...announce('c1', 'weather', {}, WEATHER), output('c1')];
    expect(
      say(responses, START, ...text('t1', 'x'), ...weather, ...text('t2', 'y'), ...text('t3', 'z')),
    ).toEqual(given(1, START, ...text('t1', 'x'), ...weather, step, ...text('t2', 'y'), ...text('t3', 'z')));
    const card = announce('c2', 'pay', {}, PAY);
    const [, request] = ask('c2');
    // The card stays in the last step, whatever is said beside it.
    expect(say(responses, ...card, ...ask('c2'))).toEqual([
      ...given(1, ...card, request as Chunk),
      { type: 'end', response: 1 },
    ]);
    responses.open(2, 'm1');
    decide('c2', true);
    responses.open(3, 'm1', { expects: true });
    expect(say(responses, ...text('t4', 'a'), output('c2'), FINISH, null)).toEqual([
      ...given(3, ...text('t4', 'a'), output('c2'), step, FINISH),
      { type: 'end', response: 3 },
    ]);
  });

  test('an error ends the response, and what the server still says of it has no reader', () => {
    const { responses } = machine();
    awaits(responses, 1, 'm1');
    const error: Chunk = { type: 'error', errorText: 'x' };
    expect(say(responses, START, error, FINISH, null)).toEqual([
      ...given(1, START, error),
      { type: 'end', response: 1 },
    ]);
    expect(say(responses)).toEqual([]);
  });

  test('an error that waited is the last that its reader gets', () => {
    const { responses } = machine();
    const error: Chunk = { type: 'error', errorText: 'x' };
    responses.reset([{ id: 'm1', role: 'assistant', parts: [] }]);
    say(responses, START, error, FINISH, null);
    expect(responses.open(1, 'm1')).toEqual([...given(1, START, error), { type: 'end', response: 1 }]);
  });

  test('data that is told and not kept goes to whoever reads, or to nobody', () => {
    const { responses } = machine();
    const data: Chunk = {
      type: 'data-error',
      data: { code: 'x', message: 'x', retryable: false },
      transient: true,
    };
    expect(say(responses, data)).toEqual([]);
    awaits(responses, 1, 'm1');
    expect(say(responses, data)).toEqual(given(1, data));
    say(responses, START);
    awaits(responses, 2, 'm2');
    expect(say(responses, data)).toEqual(given(1, data));
    responses.leave(2);
    say(responses, { type: 'start', messageId: 'm2' });
    expect(say(responses, data)).toEqual(given(1, data));
  });

  test('nothing comes before a start, and a second end is no end', () => {
    const { responses } = machine();
    expect(say(responses, ...text('t', 'x'), null, null)).toEqual([]);
  });

  test('the end of the conversation ends every response', () => {
    const { responses } = machine();
    awaits(responses, 1, 'm1');
    say(responses, START, { type: 'text-start', id: 't' });
    awaits(responses, 2, 'm2');
    expect(responses.end()).toEqual([
      ...given(1, { type: 'text-end', id: 't' }),
      { type: 'end', response: 1 },
      { type: 'end', response: 2 },
    ]);
  });
});

describe('any conversation', () => {
  const later: Chunk = { type: 'start', messageId: 'other' };

  type Entry = { chunk: Chunk | null } | { decide: string; approved: boolean };

  /** What the server says, with every call settled and the turn ended, and a click wherever the person made one. */
  function wire(acts: Act[]): Entry[] {
    const open = new Map<string, true>();
    const all = acts.flatMap((act): Entry[] =>
      act.kind === 'decision'
        ? [{ decide: act.toolCallId, approved: act.approved }]
        : [...act.chunks, null].map((chunk) => ({ chunk })),
    );
    for (const entry of all) {
      if (!('chunk' in entry) || !entry.chunk) continue;
      const { chunk } = entry;
      if (chunk.type === 'tool-input-start') open.set(chunk.toolCallId, true);
      if (chunk.type.startsWith('tool-output')) open.delete((chunk as { toolCallId: string }).toolCallId);
    }
    const ends = [...open.keys()].map(
      (toolCallId): Chunk => ({ type: 'tool-output-error', toolCallId, errorText: 'end' }),
    );
    return [...all, ...[START, ...ends, FINISH, null].map((chunk) => ({ chunk }))];
  }

  test('gives the same message, however it is cut into frames, whoever else speaks, and whenever someone reads', () => {
    fc.assert(
      fc.property(
        conversation('bidi'),
        fc.infiniteStream(fc.nat(9)),
        fc.constantFrom<string[][]>([], ['pay']),
        (acts, choices, runs) => {
          const choose = () => choices.next().value ?? 0;
          const { responses, calls, decide } = machine(runs);
          const built: Message = { id: 'm1', role: 'assistant', parts: [] };
          const fold = new MessageFold(built);
          const wanted: Message = { id: 'm1', role: 'assistant', parts: [] };
          const model = new MessageFold(wanted);
          let reader = 0;
          let count = 0;
          const take = (outputs: ResponseOutput[]) => {
            for (const output of outputs) {
              if (output.type === 'end' && output.response === reader) reader = 0;
              if (output.type === 'chunk' && output.response === reader) {
                expect(output.chunk.type).not.toBe('finish-step');
                fold.push(structuredClone(output.chunk));
              }
            }
          };
          const open = (messageId: string) => {
            reader = ++count;
            take(responses.open(reader, messageId));
          };
          reader = ++count;
          awaits(responses, reader, 'm1');
          for (const entry of wire(acts)) {
            if ('decide' in entry) {
              // No user decides on an approval card that the page does not show yet.
              if (reader === 0) open('m1');
              decide(entry.decide, entry.approved);
              fold.decide(entry.decide, entry.approved);
              model.decide(entry.decide, entry.approved);
              if (reader === 0 && choose() > 4) open('m1');
              continue;
            }
            const { chunk } = entry;
            if (chunk && chunk.type !== 'start-step' && chunk.type !== 'finish-step') {
              model.push(structuredClone(chunk));
            }
            take(chunk ? responses.receive(chunk) : responses.endTurn());
            if (
              choose() === 0 &&
              chunk &&
              chunk.type !== 'start-step' &&
              chunk.type !== 'tool-approval-request'
            ) {
              // Another message cuts in; the server repeats the start of this one.
              take(responses.receive(later));
              take(responses.receive({ type: 'text-start', id: `o${count++}` }));
              take(responses.receive(START));
            }
            if (choose() > 3) take(responses.endFrame());
            if (reader === 0 && choose() > 6) open('m1');
          }
          take(responses.endFrame());
          if (reader === 0) open('m1');
          // Steps of the page's own stand between settled calls and what follows.
          built.parts = built.parts.filter(({ type }) => type !== 'step-start');
          expect(built).toEqual(wanted);
          // A call whose last output is preliminary is open.
          const isPreliminary = ({ id }: { id: string }) =>
            wanted.parts.some(
              (part) => 'toolCallId' in part && part.toolCallId === id && 'preliminary' in part,
            );
          expect(calls.open().filter((call) => !isPreliminary(call))).toEqual([]);
          expect(reader).toBe(0);
        },
      ),
      { numRuns: 300 },
    );
  });
});
