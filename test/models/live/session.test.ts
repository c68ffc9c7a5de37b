import type { FunctionResponse, LiveServerContent, LiveServerMessage } from '@google/genai';
import { expect, test } from 'vitest';
import { liveFactsOf, withLiveFacts } from '../../../src/adk/live-facts.ts';
import { type LiveFamily, liveFamilyOf } from '../../../src/models/gemini/families.ts';
import { type Frame, FrameEncoder } from '../../../src/models/gemini/frames.ts';
import { readMessage } from '../../../src/models/gemini/messages.ts';
import type { UserInput } from '../../../src/models/live/pending-input.ts';
import { LiveSession, type SessionEffect } from '../../../src/models/live/session.ts';
import { noticeOf } from '../../../src/models/prompt-texts.ts';

type Effect = { type: 'send'; frame: Frame } | Exclude<SessionEffect, { type: 'send' }>;

/** A session with Gemini: reads its messages, and gives the frames to it. */
class GeminiSession {
  private readonly family: LiveFamily;
  private readonly encoder: FrameEncoder;
  private readonly session: LiveSession;

  constructor(model: string, nonBlocking: ReadonlySet<string>) {
    this.family = liveFamilyOf(model);
    this.encoder = new FrameEncoder({
      family: this.family,
      nonBlocking,
      hasIds: true,
      detectsSpeech: () => true,
    });
    const traits = {
      modelVersion: 'gemini-3.8-live',
      transcribesOutput: true,
      wholeUtterances: this.family.wholeUtterances,
      reportsIdle: this.family.reportsIdle,
      nonBlocking,
      repliesTo: (response: FunctionResponse) => this.encoder.isAnswered(response),
    };
    this.session = new LiveSession(traits, [], () => 'call-1');
  }

  get isBusy() {
    return this.session.isBusy;
  }
  get wakesAt() {
    return this.session.wakesAt;
  }
  socketOpened = (isResumed: boolean, now: number) => this.encoded(this.session.socketOpened(isResumed, now));
  socketLost = () => this.encoded(this.session.socketLost());
  add = (input: UserInput, now: number) => this.encoded(this.session.add(input, now));
  advance = (now: number) => this.encoded(this.session.advance(now));

  receive(message: Partial<LiveServerMessage>, now: number): Effect[] {
    const read = readMessage(message as LiveServerMessage, this.family.reportsIdle);
    if (!read) throw new Error('The message has a wrong shape.');
    return this.encoded(this.session.receive(read, now));
  }

  private encoded(effects: SessionEffect[]): Effect[] {
    return effects.flatMap((effect): Effect[] => {
      if (effect.type !== 'send') return [effect];
      const frame = this.encoder.encode(effect.input);
      return frame ? [{ type: 'send', frame }] : [];
    });
  }
}

/** A conversation with a spoken model that is open since time 0. */
function talk(options: { model?: string; nonBlocking?: string[] } = {}) {
  const { model = 'gemini-3.8-live', nonBlocking = [] } = options;
  const one = new GeminiSession(model, new Set(nonBlocking));
  one.socketOpened(false, 0);
  const emitted = (effects: Effect[]) =>
    effects.flatMap((effect) => (effect.type === 'emit' ? [effect.response] : []));
  return {
    talk: one,
    make: (name: string) =>
      emitted(one.receive({ toolCall: { functionCalls: [{ id: name, name, args: {} }] } }, 0)),
    hear: (serverContent: LiveServerContent, now: number) => emitted(one.receive({ serverContent }, now)),
    wait: (now: number) => emitted(one.advance(now)),
  };
}

const SOUND = { modelTurn: { parts: [{ inlineData: { mimeType: 'audio/pcm;rate=24000', data: 'AAAA' } }] } };

test('a model that has made all it says is not hurried while that is played', () => {
  const { talk: one, hear, wait } = talk();
  hear({ inputTranscription: { text: 'Tell me a story.' } }, 0);
  hear(SOUND, 1000);
  hear({ generationComplete: true }, 1100);
  expect(one.wakesAt).toBe(601_100);
  expect(wait(120_000)).toEqual([]);
  hear({ turnComplete: true }, 130_000);
  expect(wait(130_300)).toMatchObject([{ turnComplete: true }]);
  expect(one.wakesAt).toBeNull();
});

test('one whose connection is lost while that is played has its end soon, and has said all', () => {
  const { talk: one, hear, wait } = talk();
  hear({ inputTranscription: { text: 'Tell me a story.' } }, 0);
  hear(SOUND, 1000);
  hear({ generationComplete: true }, 1100);
  one.socketLost();
  one.socketOpened(true, 2000);
  expect(one.wakesAt).toBe(5000);
  expect(wait(5000)).toEqual([{ turnComplete: true }]);
  expect([one.isBusy, one.wakesAt]).toEqual([false, null]);
});

test('a model that has nothing to play is not waited for, and one that was asked something else not for long', () => {
  const quiet = talk();
  quiet.hear({ generationComplete: true }, 0);
  expect(quiet.talk.wakesAt).toBeNull();
  const { talk: one, hear } = talk();
  hear({ inputTranscription: { text: 'Tell me a story.' } }, 0);
  hear({ ...SOUND, generationComplete: true }, 1000);
  one.add({ content: { role: 'user', parts: [{ text: 'Stop. Hello?' }] } }, 2000);
  expect(one.wakesAt).toBe(62_000);
});

test('a model that falls silent in the middle of an answer has its end with an error, one that was not asked without', () => {
  for (const isAsked of [true, false]) {
    const { talk: one, hear, wait } = talk();
    if (isAsked) hear({ inputTranscription: { text: 'Hello?' } }, 0);
    hear(SOUND, 1000);
    const at = isAsked ? 61_000 : 4000;
    expect(one.wakesAt).toBe(at);
    expect(wait(at)).toMatchObject([...(isAsked ? [{ errorCode: 'SILENT' }] : []), { turnComplete: true }]);
    expect(one.isBusy).toBe(false);
  }
});

test('what was said before a loss and never reacted to is said once more, and then given up', () => {
  const { talk: one } = talk();
  one.add({ content: { role: 'user', parts: [{ text: 'hi' }] } }, 1000);
  one.socketLost();
  one.socketOpened(true, 2000);
  expect(one.advance(12_000)).toEqual([{ type: 'send', frame: { realtimeInput: { text: 'hi' } } }]);
  expect(one.advance(22_000)).toMatchObject([
    { response: { errorCode: 'INCOMPLETE' } },
    { response: { turnComplete: true } },
    { type: 'link', input: { type: 'busy', isBusy: false } },
  ]);
});

test('what was on its way when the person said something else is no answer to that', () => {
  const { talk: one, hear, wait } = talk();
  hear({ inputTranscription: { text: 'Tell me a story.' } }, 0);
  hear(SOUND, 100);
  one.add({ content: { role: 'user', parts: [{ text: 'Stop. Hello?' }] } }, 200);
  hear(SOUND, 210);
  expect(one.isBusy).toBe(true);
  const ends = { turnComplete: true, ...withLiveFacts({ continues: true, wasIdle: true }) };
  expect(hear({ interrupted: true }, 220)).toEqual([ends]);
  expect(hear({ turnComplete: true }, 221)).toEqual([ends]);
  // A model that says nothing to it is noticed.
  expect([one.isBusy, one.wakesAt]).toEqual([true, 60_221]);
  hear(SOUND, 1000);
  hear({ turnComplete: true }, 2000);
  expect(wait(2300)).toMatchObject([{ turnComplete: true }]);
  expect([one.isBusy, one.wakesAt]).toEqual([false, null]);
});

test('what is said just when the model ends its turn is answered in the next', () => {
  const { talk: one, hear, wait } = talk();
  hear({ inputTranscription: { text: 'Hi.' } }, 0);
  hear(SOUND, 100);
  one.add({ content: { role: 'user', parts: [{ text: 'Hello?' }] } }, 200);
  hear(SOUND, 210);
  hear({ turnComplete: true }, 220);
  expect(wait(520)).toMatchObject([
    { turnComplete: true, ...withLiveFacts({ continues: true, wasIdle: true }) },
  ]);
  hear(SOUND, 1000);
  hear({ turnComplete: true }, 2000);
  expect(wait(2300)).toEqual([{ turnComplete: true, modelVersion: 'gemini-3.8-live' }]);
});

test('a model that says nothing to what is said beside an open card is noticed, unless the card holds it up', () => {
  const typed = { content: { role: 'user', parts: [{ text: 'hello' }] } };
  const beside = talk({ nonBlocking: ['pay'] });
  beside.make('pay');
  beside.hear({ turnComplete: true }, 0);
  expect(beside.talk.wakesAt).toBeNull();
  beside.talk.add(typed, 1000);
  expect(beside.talk.wakesAt).toBe(61_000);
  expect(beside.wait(61_000)).toMatchObject([{ errorCode: 'SILENT' }, { turnComplete: true }]);
  expect([beside.talk.isBusy, beside.talk.wakesAt]).toEqual([false, null]);

  const held = talk({ model: 'gemini-2.5-flash-native-audio-latest' });
  held.make('pay');
  held.talk.add(typed, 1000);
  expect(held.talk.wakesAt).toBeNull();
});

test('one that falls silent in the middle of a word beside an open card is noticed, one that thinks until then is not', () => {
  const { talk: one, make, hear, wait } = talk({ nonBlocking: ['pay'] });
  make('pay');
  one.add({ content: { role: 'user', parts: [{ text: 'hello' }] } }, 1000);
  hear(SOUND, 2000);
  expect(wait(62_000)).toMatchObject([{ errorCode: 'SILENT' }, { turnComplete: true }]);

  const thinks = talk({ model: 'gemini-3.8-live-extended-thinking', nonBlocking: ['pay'] });
  thinks.make('pay');
  thinks.hear({ turnComplete: true, interactionStatus: 'IN_PROGRESS' } as LiveServerContent, 0);
  expect([thinks.talk.isBusy, thinks.talk.wakesAt]).toEqual([true, null]);
});

test('what was interrupted before the model began with it is over when the person goes on', () => {
  const { talk: one, hear, wait } = talk();
  const typed = (text: string) => ({ content: { role: 'user', parts: [{ text }] } });
  one.add(typed('Tell me a story.'), 0);
  expect(one.add({ activity: 'start' }, 10)).toEqual([]);
  expect(one.add(typed('Hello?'), 20)).toEqual([
    { type: 'emit', response: { turnComplete: true, ...withLiveFacts({ continues: false, wasIdle: true }) } },
    { type: 'send', frame: { realtimeInput: { text: 'Hello?' } } },
  ]);
  hear(SOUND, 100);
  hear({ turnComplete: true }, 200);
  expect(wait(500)).toEqual([{ turnComplete: true, modelVersion: 'gemini-3.8-live' }]);
});

test('two turns that end at once have two ends', () => {
  const { hear, wait } = talk();
  hear({ inputTranscription: { text: 'One?' } }, 0);
  hear(SOUND, 100);
  expect(hear({ turnComplete: true }, 110)).toEqual([]);
  hear(SOUND, 120);
  expect(hear({ turnComplete: true }, 130)).toMatchObject([{ turnComplete: true }]);
  expect(wait(430)).toMatchObject([{ turnComplete: true }]);
});

test('what the person speaks after they interrupted is answered, whether or not the model ends what it had begun', () => {
  const { talk: one, hear, wait } = talk();
  const typed = (text: string) => ({ content: { role: 'user', parts: [{ text }] } });
  one.add(typed('Tell me a story.'), 0);
  hear(SOUND, 100);
  one.add({ activity: 'start' }, 200);
  expect(hear({ interrupted: true }, 300)).toMatchObject([
    { interrupted: true },
    { turnComplete: true, ...withLiveFacts({ continues: false, wasIdle: true }) },
  ]);
  hear({ inputTranscription: { text: 'Hello?' } }, 400);
  hear(SOUND, 500);
  hear({ turnComplete: true }, 600);
  expect(wait(900)).toEqual([{ turnComplete: true, modelVersion: 'gemini-3.8-live' }]);
});

test('a model that was interrupted and says no more has its end without an error', () => {
  const { talk: one, hear, wait } = talk();
  hear({ inputTranscription: { text: 'Tell me a story.' } }, 0);
  hear(SOUND, 100);
  hear({ interrupted: true }, 200);
  expect(one.wakesAt).toBe(3200);
  expect(wait(3200)).toEqual([{ turnComplete: true }]);
  expect([one.isBusy, one.wakesAt]).toEqual([false, null]);
});

test('one that ends its turn after that is not waited for', () => {
  const { talk: one, hear } = talk();
  hear(SOUND, 100);
  hear({ interrupted: true }, 200);
  expect(hear({ turnComplete: true }, 210)).toMatchObject([{ turnComplete: true }]);
  expect(one.wakesAt).toBeNull();
});

test('what was asked after an interruption has its end, or its answer over another socket, though the model does not stop', () => {
  const over = { turnComplete: true, ...withLiveFacts({ continues: false, wasIdle: true }) };
  for (const isLost of [true, false]) {
    const { talk: one, hear, wait } = talk();
    const typed = (text: string) => ({ content: { role: 'user', parts: [{ text }] } });
    one.add(typed('Tell me a story.'), 0);
    hear(SOUND, 100);
    one.add({ activity: 'start' }, 200);
    one.add(typed('Hello?'), 300);
    if (!isLost) {
      expect(wait(60_300)).toMatchObject([over, { errorCode: 'SILENT' }, { turnComplete: true }]);
      continue;
    }
    one.socketLost();
    expect(one.socketOpened(true, 400)).toMatchObject([{ type: 'emit', response: over }]);
    hear(SOUND, 500);
    hear({ turnComplete: true }, 600);
    expect(wait(900)).toEqual([{ turnComplete: true, modelVersion: 'gemini-3.8-live' }]);
  }
});

test.each([
  ['words', { outputTranscription: { text: 'on a' } }],
  ['sound', SOUND],
])('%s behind the end of what was interrupted are not taken for the end of the answer', (_, late) => {
  const { talk: one, hear, wait } = talk();
  const typed = (text: string) => ({ content: { role: 'user', parts: [{ text }] } });
  const earlier = { turnComplete: true, ...withLiveFacts({ continues: true, wasIdle: true }) };
  one.add(typed('Tell me a story.'), 0);
  hear(SOUND, 100);
  one.add({ activity: 'start' }, 200);
  one.add(typed('Hello?'), 300);
  const reported = [...hear({ turnComplete: true }, 400), ...hear(late, 410), ...wait(710)];
  expect(reported.filter(({ turnComplete }) => turnComplete)).toEqual([earlier]);
  hear(SOUND, 1000);
  hear({ turnComplete: true }, 1100);
  expect(wait(1400)).toEqual([{ turnComplete: true, modelVersion: 'gemini-3.8-live' }]);
  expect([one.isBusy, one.wakesAt]).toEqual([false, null]);
});

test('one that is interrupted when it has made a call, and whose connection is lost, has its end', () => {
  const { talk: one, hear, make, wait } = talk({ nonBlocking: ['pay'] });
  hear({ inputTranscription: { text: 'Pay.' } }, 0);
  make('pay');
  hear({ interrupted: true }, 200);
  one.socketLost();
  one.socketOpened(true, 1000);
  expect(wait(4000)).toMatchObject([{ turnComplete: true }]);
  expect([one.isBusy, one.wakesAt]).toEqual([false, null]);
});

/** A caller that waits for the model as a conversation does: for an answer, and, once it interrupted, for the end of that. */
class Waiting {
  private readonly talk = talk().talk;
  private now = 0;
  private isMuted = false;
  isAnswered = true;

  readonly steps: Record<string, () => void> = {
    ask: () => {
      if (!this.isAnswered) return;
      this.isAnswered = false;
      this.hear(this.talk.add({ content: { role: 'user', parts: [{ text: 'Hello?' }] } }, this.now));
    },
    interrupt: () => {
      if (this.isAnswered) return;
      this.isAnswered = true;
      this.isMuted = true;
      this.hear(this.talk.add({ activity: 'start' }, this.now));
    },
    sound: () => this.push(SOUND),
    words: () => this.push({ outputTranscription: { text: 'Once' } }),
    made: () => this.push({ generationComplete: true }),
    stopped: () => this.push({ interrupted: true }),
    ended: () => this.push({ turnComplete: true }),
    lost: () => {
      this.hear(this.talk.socketLost());
      this.hear(this.talk.socketOpened(true, this.now));
    },
    late: () => {
      this.now += 300;
      this.hear(this.talk.advance(this.now));
    },
  };

  /** Nothing more comes of the server. */
  fallSilent(): void {
    for (let { wakesAt } = this.talk; wakesAt !== null; { wakesAt } = this.talk) {
      this.now = wakesAt;
      this.hear(this.talk.advance(this.now));
    }
  }

  private push(serverContent: LiveServerContent): void {
    this.now += 10;
    this.hear(this.talk.receive({ serverContent } as LiveServerMessage, this.now));
  }

  private hear(effects: Effect[]): void {
    for (const effect of effects) {
      if (effect.type !== 'emit' || !effect.response.turnComplete) continue;
      if (!this.isMuted && !liveFactsOf(effect.response).wasIdle) this.isAnswered = true;
      this.isMuted = false;
    }
  }
}

test('whatever is interrupted, asked, said and lost in whatever order, nobody waits for ever', () => {
  const names = Object.keys(new Waiting().steps);
  const stuck: string[] = [];
  const orders = (length: number): string[][] =>
    length === 0 ? [[]] : orders(length - 1).flatMap((before) => names.map((name) => [...before, name]));
  const beginnings = [
    ['ask'],
    ['ask', 'sound', 'interrupt', 'ask'],
    ['ask', 'sound', 'interrupt', 'ask', 'lost'],
  ];
  for (const all of beginnings.flatMap((first) => orders(3).map((order) => [...first, ...order]))) {
    const waiting = new Waiting();
    for (const name of all) waiting.steps[name]?.();
    waiting.fallSilent();
    if (!waiting.isAnswered) stuck.push(all.join(' '));
  }
  expect(stuck).toEqual([]);
});

test('a result that the model took back after it was sent is not sent once more', () => {
  const result = { role: 'user', parts: [{ functionResponse: { id: 'pay', name: 'pay', response: {} } }] };
  const sent = (isTakenBack: boolean) => {
    const { talk: one, make } = talk({ nonBlocking: ['pay'] });
    make('pay');
    one.add({ content: result }, 100);
    if (isTakenBack) one.receive({ toolCallCancellation: { ids: ['pay'] } } as LiveServerMessage, 200);
    one.socketLost();
    return one.socketOpened(true, 300).filter(({ type }) => type === 'send').length;
  };
  expect([sent(false), sent(true)]).toEqual([1, 0]);
});

test('a call that is made again and taken back at once gets no answer', () => {
  const { talk: one, make } = talk({ nonBlocking: ['pay'] });
  make('pay');
  one.add(
    { content: { role: 'user', parts: [{ functionResponse: { id: 'pay', name: 'pay', response: {} } }] } },
    100,
  );
  const again = { id: 'other', name: 'pay', args: {} };
  const message = { toolCall: { functionCalls: [again] }, toolCallCancellation: { ids: ['other'] } };
  expect(one.receive(message as LiveServerMessage, 200).filter(({ type }) => type === 'send')).toEqual([]);
});

test('a session that knows a call only by an id that no history has is taken up by no other connection', () => {
  const { talk: one, make } = talk({ nonBlocking: ['pay'] });
  make('pay');
  const again = { toolCall: { functionCalls: [{ id: 'other', name: 'pay', args: {} }] } };
  one.receive(again as LiveServerMessage, 100);
  expect(one.receive({ toolCallCancellation: { ids: ['pay'] } } as LiveServerMessage, 200)).toEqual([
    { type: 'emit', response: { liveSessionResumptionUpdate: { resumable: false } } },
  ]);
  const update = { sessionResumptionUpdate: { newHandle: 'h', resumable: true } };
  expect(one.receive(update as LiveServerMessage, 300)).toEqual([
    { type: 'link', input: { type: 'handle', handle: 'h' } },
  ]);
});

test('the answer to a result that is given just when the model ends its turn belongs to one turn with one end', () => {
  const { talk: one, make, hear, wait } = talk({ nonBlocking: ['locate'] });
  hear({ inputTranscription: { text: 'Where am I?' } }, 0);
  hear(SOUND, 100);
  make('locate');
  // The end of a spoken turn is held back for 300 ms, in case its last words arrive after it.
  expect(hear({ turnComplete: true }, 200)).toEqual([]);
  const response = { id: 'locate', name: 'locate', response: { city: 'Kyoto' } };
  one.add({ content: { role: 'user', parts: [{ functionResponse: response }] } }, 250);
  expect(hear(SOUND, 300)).toMatchObject([
    { turnComplete: true, ...withLiveFacts({ continues: true, wasIdle: true }) },
    { content: SOUND.modelTurn },
  ]);
  expect(wait(600)).toEqual([]);
  expect(hear(SOUND, 700)).toHaveLength(1);
  hear({ turnComplete: true }, 800);
  expect(wait(1100)).toEqual([{ turnComplete: true, modelVersion: 'gemini-3.8-live' }]);
});

test('an interruption is no answer to a result that the model has not reacted to', () => {
  const { talk: one, make, hear } = talk({ nonBlocking: ['pay'] });
  make('pay');
  hear({ turnComplete: true }, 10);
  const response = { id: 'pay', name: 'pay', response: { ok: true } };
  one.add({ content: { role: 'user', parts: [{ functionResponse: response }] } }, 20);
  hear({ interrupted: true, turnComplete: true }, 30);
  expect(one.isBusy).toBe(true);
});

test('what the person says while a call is open is answered in a turn of its own', () => {
  const { make, hear, wait } = talk({ nonBlocking: ['pay'] });
  make('pay');
  hear({ inputTranscription: { text: 'And how are you?' } }, 10);
  hear(SOUND, 20);
  hear({ turnComplete: true }, 30);
  expect(wait(330)).toEqual([{ turnComplete: true, modelVersion: 'gemini-3.8-live' }]);
});

test('a result of a call that the session does not know waits until the model has ended its turn', () => {
  const { talk: one, hear } = talk();
  hear({ inputTranscription: { text: 'Tell me a story.' } }, 0);
  hear(SOUND, 100);
  const response = { id: 'old', name: 'pay', response: { ok: true } };
  expect(one.add({ content: { role: 'user', parts: [{ functionResponse: response }] } }, 200)).toEqual([]);
  hear({ turnComplete: true }, 300);
  const turn = { role: 'user', parts: [{ text: noticeOf('pay', {}, { ok: true }) }] };
  expect(one.advance(600).filter(({ type }) => type === 'send')).toEqual([
    { type: 'send', frame: { clientContent: { turns: [turn], turnComplete: true } } },
  ]);
});
