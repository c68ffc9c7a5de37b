import { BaseAgent, createEvent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { createMemoryStore, type DuologueOptions, type Logger } from '../../src/server/index.ts';
import { settle } from '../conversation/support/world.ts';
import { fourTools } from '../support/demo-tools.ts';
import { harness, say } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import {
  call,
  calls,
  partial,
  ScriptedModel,
  type ScriptedTurn,
  streamed,
  text,
} from '../support/scripted-model.ts';
import type { TestSocket } from '../support/socket.ts';

const PAY = { id: 'call-p', name: 'process_payment', args: { amount: 30, recipient: 'Alice' } };
const OSLO = { id: 'call-w', name: 'get_weather', args: { location: 'Oslo' } };

/** Messages in the order of their starts: what each says, and its calls by id and end. */
function reported(socket: TestSocket): Record<string, string[]> {
  const messages: Record<string, string[]> = {};
  let current: string[] = [];
  for (const chunk of socket.chunks) {
    if (chunk.type === 'start') {
      const id = chunk.messageId ?? '';
      current = messages[id] ?? [];
      messages[id] = current;
    } else if (chunk.type === 'text-delta') current.push(chunk.delta);
    else if (chunk.type === 'tool-input-start') current.push(`?${chunk.toolCallId}`);
    else if (chunk.type === 'tool-approval-request') current.push('card');
    else if (chunk.type === 'tool-output-available') current.push(`!${chunk.toolCallId}`);
    else if (chunk.type === 'tool-output-error') current.push(`${chunk.toolCallId}: ${chunk.errorText}`);
    else if (chunk.type === 'finish') current.push(`(${chunk.finishReason})`);
  }
  return messages;
}

/** A server whose agent has no live mode. */
async function turns(script: ScriptedTurn[], options: Partial<DuologueOptions> = {}) {
  const log: string[] = [];
  const { payment, weather, music, location, optimisticMusic: _ } = fourTools(log);
  const tools = [payment, weather, music, location];
  const made = await live(script, tools, { driver: 'turn', approvalTimeoutMs: null, ...options });
  return { ...made, log };
}

/** An agent that says something when a test lets it. */
function waiting() {
  let go: () => void = () => undefined;
  const gone = new Promise<void>((resolve) => {
    go = resolve;
  });
  const turn: ScriptedTurn = async function* () {
    yield partial('One ');
    await gone;
    yield text('One two.');
  };
  return { turn, go };
}

describe('an agent without a live mode, behind a socket', () => {
  it.each([
    [
      'agents side by side',
      (one: LlmAgent, two: LlmAgent) => new ParallelAgent({ name: 'flow', subAgents: [one, two] }),
    ],
    [
      'agents one after the other',
      (one: LlmAgent, two: LlmAgent) => new SequentialAgent({ name: 'flow', subAgents: [one, two] }),
    ],
    [
      'agents in a loop',
      (one: LlmAgent, two: LlmAgent) =>
        new LoopAgent({ name: 'flow', subAgents: [one, two], maxIterations: 1 }),
    ],
  ])('[B13] [B33] answers every message, in one message each: %s', async (_, flow) => {
    const log: string[] = [];
    const { weather } = fourTools(log);
    const first = new ScriptedModel([[calls(OSLO)], [text('Sunny. ')], [text('Again. ')]]);
    const second = new ScriptedModel([[text('Take a hat.')], [text('And again.')]]);
    const agent = flow(
      new LlmAgent({ name: 'one', model: first, tools: [weather] }),
      new LlmAgent({ name: 'two', model: second }),
    );
    const { connect } = await live([], [], { agent });
    const socket = await connect();
    socket.say('weather');
    await socket.done();
    socket.say('more');
    await socket.done(2);
    const [answer, more] = Object.values(reported(socket));
    expect(answer?.toSorted()).toEqual(['!call-w', '(stop)', '?call-w', 'Sunny. ', 'Take a hat.'].toSorted());
    expect(more?.toSorted()).toEqual(['(stop)', 'Again. ', 'And again.'].toSorted());
    expect(log).toEqual(['weather Oslo']);
  });

  it('[S7] one that says nothing at all, or throws, is told, and the next message is answered', async () => {
    class Moody extends BaseAgent {
      private count = 0;
      protected override async *runAsyncImpl() {
        this.count++;
        if (this.count === 2) throw new Error('no mood');
        if (this.count === 3)
          yield createEvent({ author: 'moody', content: { role: 'model', parts: [{ text: 'Fine.' }] } });
      }
      // biome-ignore lint/correctness/useYield: it has no live mode.
      protected override async *runLiveImpl(): AsyncGenerator<never, void, void> {
        throw new Error('This agent has no live mode.');
      }
    }
    const { connect } = await live([], [], { agent: new Moody({ name: 'moody' }) });
    const socket = await connect();
    for (const [index, words] of ['one', 'two', 'three'].entries()) {
      socket.say(words);
      await socket.done(index + 1);
    }
    expect(Object.values(reported(socket))).toEqual([['(error)'], ['(error)'], ['Fine.', '(stop)']]);
  });

  it('[T18a] answers what is typed beside an open card, and hears of the card in its own message', async () => {
    const { connect, log, model } = await turns([
      [calls(PAY)],
      [text('Still open.')],
      [text('Paid.')],
      [text('Bye.')],
    ]);
    const socket = await connect();
    socket.say('pay');
    const card = await socket.chunk('tool-approval-request');
    socket.say('what now');
    await socket.done();
    socket.send('message', decision(card));
    await socket.done(2);
    socket.say('bye');
    await socket.done(3);
    expect(Object.values(reported(socket))).toEqual([
      ['?call-p', 'card', '!call-p', 'Paid.', '(stop)'],
      ['Still open.', '(stop)'],
      ['Bye.', '(stop)'],
    ]);
    expect(log).toEqual(['pay Alice 30']);
    const shown = model.requests.map(({ contents }) => JSON.stringify(contents));
    expect(shown[1]).toContain('"status":"pending"');
    expect(shown[2]).toContain('The result of an earlier tool call has arrived');
    expect(shown[2]).not.toContain('"status":"pending"');
    // The text that reported it belongs to no message, and is in no history.
    expect(shown[3]).not.toContain('The result of an earlier tool call has arrived');
  });

  it('[T17] shows one card at a time, and runs a plain tool beside it', async () => {
    const second = { ...PAY, id: 'call-q', args: { amount: 40, recipient: 'Bob' } };
    const { connect, log } = await turns([[calls(PAY, second, OSLO)], [text('Done.')]]);
    const socket = await connect();
    socket.say('pay both');
    const card = await socket.chunk('tool-approval-request');
    await socket.chunk('tool-output-available');
    socket.send('message', decision(card));
    const next = await socket.chunk('tool-approval-request', 2);
    socket.send('message', decision(next, false));
    await socket.done();
    const [answer] = Object.values(reported(socket));
    expect(answer?.filter((one) => one !== '?call-w' && one !== '!call-w')).toEqual([
      '?call-p',
      'card',
      '!call-p',
      '?call-q',
      'card',
      'call-q: User denied the tool call',
      'Done.',
      '(stop)',
    ]);
    expect(log).toEqual(['weather Oslo', 'pay Alice 30']);
  });

  it('[T20] waits for the browser, whatever a tool says it would answer', async () => {
    const { optimisticMusic } = fourTools();
    const { connect } = await live(
      [[call('change_bgm', { track: 1 }, 'call-m')], [text('Playing.')]],
      [optimisticMusic],
      { driver: 'turn' },
    );
    const socket = await connect();
    socket.say('music');
    const input = await socket.chunk('tool-input-available');
    expect(input.toolMetadata).toEqual({ runsOn: 'client', asks: false });
    socket.send('tool_result', { toolCallId: 'call-m', result: { playing: 1 } });
    await socket.done();
    expect(await socket.chunk('tool-output-available')).toMatchObject({ output: { playing: 1 } });
  });

  it('[B6] is interrupted in mid-sentence, at once, and knows afterwards what it had said', async () => {
    const { turn, go } = waiting();
    const { connect, model } = await turns([turn, streamed('Next', '.')]);
    const socket = await connect();
    socket.say('count');
    await socket.chunk('text-delta');
    socket.send('interrupt');
    await socket.done();
    socket.say('and now');
    go();
    await socket.done(2);
    expect(Object.values(reported(socket))).toEqual([
      ['One ', '(other)'],
      ['Next', '.', '(stop)'],
    ]);
    expect(model.lastContents.map(({ parts }) => parts?.[0]?.text)).toEqual(['count', 'One ', 'and now']);
  });

  it('[B6] [C9] is interrupted in the middle of a tool that it runs itself', async () => {
    const { weather } = fourTools();
    weather.runDecided = () => new Promise(() => undefined);
    const { connect, model } = await live([[calls(OSLO)], [text('Well.')]], [weather], { driver: 'turn' });
    const socket = await connect();
    socket.say('weather');
    await socket.chunk('tool-input-available');
    socket.send('interrupt');
    await socket.done();
    socket.say('never mind');
    await socket.done(2);
    expect(Object.values(reported(socket))).toEqual([
      ['?call-w', 'call-w: Interrupted by the user', '(other)'],
      ['Well.', '(stop)'],
    ]);
    expect(JSON.stringify(model.lastContents)).toContain('Interrupted by the user');
  });

  it('[R7] [T15] goes on with a card that an earlier process showed', async () => {
    const store = Object.assign(createMemoryStore(), { close: async () => undefined });
    const before = await turns([[calls(PAY)]], { store });
    const socket = await before.connect('?session=s');
    socket.say('pay');
    const card = await socket.chunk('tool-approval-request');
    await before.duologue.close();
    const after = await turns([[text('Paid.')]], { store: store });
    const back = await after.connect('?session=s');
    back.send('message', decision(card));
    await back.done();
    expect(Object.values(reported(back))).toEqual([['!call-p', 'Paid.', '(stop)']]);
    expect(after.log).toEqual(['pay Alice 30']);
  });

  it('[S13] goes on over SSE, and back', async () => {
    const { connect, post } = await turns([[text('One.')], [text('Two.')], [text('Three.')]]);
    const socket = await connect('?session=chat-1');
    socket.say('one');
    await socket.done();
    expect((await post(say('two'))).dones).toBe(1);
    socket.say('three');
    await socket.until((all) =>
      all.some(
        (one) => one.kind === 'chunk' && one.chunk.type === 'text-delta' && one.chunk.delta === 'Three.',
      ),
    );
  });

  it('[B26d] [B33] says that it does not hear, and passes over what it is sent', async () => {
    const { connect } = await turns([]);
    const socket = await connect();
    expect((await socket.chunk('data-session')).data.model).toMatchObject({ hears: false });
    socket.send('audio_control', { action: 'start' });
    socket.send('audio_chunk', { chunk: 'AAECAw==' });
    await settle(20);
    expect(socket.received.filter((one) => one.kind === 'close')).toEqual([]);
  });
});

describe('a tool that waits, inside a workflow', () => {
  const flow = (model: ScriptedModel, log: string[]) => {
    const { payment, music } = fourTools(log);
    return new SequentialAgent({
      name: 'flow',
      subAgents: [
        new LlmAgent({ name: 'payer', model, tools: [payment, music] }),
        new LlmAgent({ name: 'closer', model: new ScriptedModel([[text('Goodbye.')]]) }),
      ],
    });
  };
  const REFUSED =
    'process_payment waits for an approval, but no call can wait inside the workflow "flow": the workflow could not continue where it stopped.';
  const OUTSIDE =
    'change_bgm waits for an answer from outside, but no call can wait inside the workflow "flow": the workflow could not continue where it stopped.';
  const script = () =>
    new ScriptedModel([
      [calls(PAY, { id: 'call-m', name: 'change_bgm', args: { track: 1 } })],
      [text('I may not. ')],
    ]);

  it('[T12] is refused in words over BIDI, and the workflow goes on', async () => {
    const log: string[] = [];
    const { connect } = await live([], [], { agent: flow(script(), log) });
    const socket = await connect();
    socket.say('pay');
    await socket.done();
    expect(Object.values(reported(socket))).toEqual([
      ['?call-p', `call-p: ${REFUSED}`, '?call-m', `call-m: ${OUTSIDE}`, 'I may not. ', 'Goodbye.', '(stop)'],
    ]);
    expect(log).toEqual([]);
  });

  it('[T12] is refused in words over SSE, too', async () => {
    const log: string[] = [];
    const { post } = harness([], [], { agent: flow(script(), log) });
    const { chunks, dones } = await post(say('pay'));
    const errors = chunks.flatMap((chunk) => (chunk.type === 'tool-output-error' ? [chunk.errorText] : []));
    expect([errors, dones, log]).toEqual([[REFUSED, OUTSIDE], 1, []]);
  });

  it('[T12] is named when the server starts', () => {
    const warned: string[] = [];
    const logger: Logger = { info() {}, warn: (message) => void warned.push(message), error() {} };
    harness([], [], { agent: flow(script(), []), logger });
    expect(warned).toEqual([
      'Calls of process_payment by the agent "payer" are refused where they would wait: no call can wait inside the workflow "flow".',
      'Calls of change_bgm by the agent "payer" are refused where they would wait: no call can wait inside the workflow "flow".',
    ]);
  });

  it('[T12] may wait beside one: the agent that hands over to a workflow asks for itself', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const model = new ScriptedModel([[calls(PAY)], [text('Paid.')]]);
    const step = new LlmAgent({ name: 'step', model: new ScriptedModel([]) });
    const agent = new LlmAgent({
      name: 'root',
      model,
      tools: [payment],
      subAgents: [new SequentialAgent({ name: 'flow', subAgents: [step] })],
    });
    const { connect } = await live([], [], { agent });
    const socket = await connect();
    socket.say('pay');
    socket.send('message', decision(await socket.chunk('tool-approval-request')));
    await socket.done();
    expect(Object.values(reported(socket))).toEqual([['?call-p', 'card', '!call-p', 'Paid.', '(stop)']]);
  });
});
