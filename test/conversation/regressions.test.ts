import { type Event, FunctionTool, LlmAgent, LongRunningFunctionTool, ParallelAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import { withLiveFacts } from '../../src/adk/live-facts.ts';
import { waitingResponse } from '../../src/models/retry-policy.ts';
import { createMemoryStore } from '../../src/server/index.ts';
import { turns as until } from '../server/support/turns.ts';
import { fourTools } from '../support/demo-tools.ts';
import { decision, live } from '../support/live.ts';
import { call, ScriptedLiveConnection, ScriptedModel, type Sent, text } from '../support/scripted-model.ts';
import { brief } from './support/message-view.ts';
import { settle, World } from './support/world.ts';

const audio = {
  content: { role: 'model', parts: [{ inlineData: { mimeType: 'audio/pcm;rate=24000', data: 'AAAA' } }] },
};
const words = (lines: string, finished = false) => ({
  outputTranscription: { text: lines, finished },
  partial: !finished,
});
const pay = call('process_payment', { amount: 30, recipient: 'Alice' }, 'call-p');

/** A server with a live model whose side the test plays. */
async function native(connections?: (ScriptedLiveConnection | Error)[]) {
  const connection = new ScriptedLiveConnection();
  const log: string[] = [];
  const { payment, weather } = fourTools(log);
  const model = new ScriptedModel([], { connections: connections ?? [connection] });
  const agent = new LlmAgent({ name: 'assistant', model, tools: [payment, weather] });
  return { ...(await live([], [], { agent })), connection, log, nativeModel: model };
}

const reportedSomething = ({ sent }: ScriptedLiveConnection) => sent.some(({ kind }) => kind === 'content');

/** A world in which the person has said something and the model has made these calls. */
async function asked(...tools: Parameters<World['model']['call']>[0]): Promise<World> {
  const world = new World({ model: 'turns', approvals: 'sequential', whenBusy: 'queue' });
  await world.join('lost');
  await settle();
  world.say();
  await settle();
  world.model.call(tools);
  await settle();
  return world;
}

const partsIn = (events: readonly Event[]) => events.flatMap(({ content }) => content?.parts ?? []);
const calledIn = (events: readonly Event[]) =>
  partsIn(events).flatMap(({ functionCall }) => functionCall?.id ?? []);
const answeredIn = (events: readonly Event[]) =>
  partsIn(events).flatMap(({ functionResponse }) => functionResponse?.id ?? []);

/** The agent's messages that the page shows in another way than they are stored. */
async function shownAndStored(world: World): Promise<unknown[]> {
  const stored = (await world.messages()).filter(({ role }) => role === 'assistant');
  expect(stored).not.toEqual([]);
  const shown = world.page?.view.messages;
  return stored
    .map((message) => ({ id: message.id, stored: brief(message), shown: shown?.get(message.id) }))
    .filter((one) => one.stored !== one.shown);
}

describe('a live model', () => {
  it('[B13] sound and words that come after the end of a turn are no message that never ends', async () => {
    const { connect, connection } = await native();
    const socket = await connect();
    socket.say('hello');
    await until(() => reportedSomething(connection));
    connection.push(words('Hi.'), words('Hi.', true), { turnComplete: true });
    await socket.done();
    connection.push(audio);
    await settle(30);
    // The next message is taken at once: nothing is being said.
    socket.say('again');
    await until(() => connection.sent.filter(({ kind }) => kind === 'content').length === 2);
  });

  it('[E1] a microphone that is on while the model refuses connections opens few, and the person is told', async () => {
    const refusals = Array.from({ length: 60 }, () => new Error('API key not valid'));
    const { connect, nativeModel } = await native(refusals as Error[]);
    const socket = await connect();
    socket.send('audio_control', { action: 'start' });
    for (let i = 0; i < 50; i++) {
      socket.send('audio_chunk', { chunk: 'AAECAw==' });
      await settle(3);
    }
    await settle(50);
    expect(nativeModel.connects.length).toBeLessThan(5);
    expect(socket.received.some((one) => one.kind === 'chunk' && one.chunk.type === 'data-error')).toBe(true);
  });

  it('[T12] a call that the model takes back while its card is open ends, and cannot be approved', async () => {
    const { connect, connection, log } = await native();
    const socket = await connect();
    socket.say('pay');
    await until(() => reportedSomething(connection));
    connection.push(pay);
    const card = await socket.chunk('tool-approval-request');
    connection.push({ interrupted: true, ...withLiveFacts({ cancelledCalls: ['call-p'] }) });
    await settle(30);
    expect(socket.chunks.filter(({ type }) => type === 'tool-output-error')).toEqual([
      { type: 'tool-output-error', toolCallId: 'call-p', errorText: 'Cancelled by the agent' },
    ]);
    // The service closes a connection that answers a call it has taken back.
    const answered = (sent: Sent) => JSON.stringify(sent).includes('functionResponse');
    expect(connection.sent.filter(answered)).toEqual([]);
    socket.send('message', decision(card));
    await settle(30);
    expect(log).toEqual([]);
  });

  it.each([
    'and the model hears nothing of it',
    'and its session hears nothing of it over another connection either',
  ])('[T5] a call that the model takes back while it runs ends with what it did, %s', async (how) => {
    const first = new ScriptedLiveConnection();
    const second = new ScriptedLiveConnection();
    const isOne = how === 'and the model hears nothing of it';
    const connection = isOne ? first : second;
    let letPay: () => void = () => undefined;
    const paying = new Promise<void>((resolve) => {
      letPay = resolve;
    });
    let isPaying = false;
    const payment = defineTool({
      name: 'process_payment',
      description: 'Pays',
      parameters: z.object({ amount: z.number(), recipient: z.string() }),
      needsApproval: true,
      execute: async () => {
        isPaying = true;
        await paying;
        return { success: true };
      },
    });
    const model = new ScriptedModel([], { connections: [first, second] });
    const { connect } = await live([], [], {
      agent: new LlmAgent({ name: 'assistant', model, tools: [payment] }),
    });
    const socket = await connect();
    socket.say('pay');
    await until(() => reportedSomething(first));
    first.push({ liveSessionResumptionUpdate: { newHandle: 'h', resumable: true } }, pay);
    socket.send('message', decision(await socket.chunk('tool-approval-request')));
    await until(() => isPaying);
    first.push({ interrupted: true, ...withLiveFacts({ cancelledCalls: ['call-p'] }) });
    await settle(30);
    if (!isOne) {
      first.end();
      await settle(30);
    }
    letPay();
    expect(await socket.chunk('tool-output-available')).toMatchObject({ output: { success: true } });
    await socket.done();
    expect(socket.chunks.filter(({ type }) => type === 'tool-output-error')).toEqual([]);
    const answered = (sent: Sent) => JSON.stringify(sent).includes('functionResponse');
    socket.say('again');
    await until(() => connection.sent.filter(({ kind }) => kind === 'content').length === (isOne ? 2 : 1));
    connection.push(words('Yes?'), words('Yes?', true), { turnComplete: true });
    await socket.done(2);
    expect([...first.sent, ...second.sent].filter(answered)).toEqual([]);
    if (!isOne)
      expect(model.connects[1]?.liveConnectConfig).toMatchObject({ sessionResumption: { handle: 'h' } });
  });

  it('[B6] a model that is lost just after it stopped for the person keeps nobody waiting', async () => {
    const first = new ScriptedLiveConnection();
    const second = new ScriptedLiveConnection();
    const { connect } = await native([first, second]);
    const socket = await connect();
    socket.say('hello');
    await until(() => reportedSomething(first));
    first.push(words('Hi'), { interrupted: true });
    await socket.done();
    first.end();
    await settle(30);
    socket.say('again');
    await until(() => reportedSomething(second));
    second.push(words('Yes?'), words('Yes?', true), { turnComplete: true });
    await socket.done(2);
  });

  it('[B14] a model that cannot be reached for a while beside an open card keeps nobody waiting', async () => {
    const { connect, connection } = await native();
    const socket = await connect();
    socket.say('pay');
    await until(() => reportedSomething(connection));
    connection.push(pay);
    const card = await socket.chunk('tool-approval-request');
    connection.push({ turnComplete: true });
    connection.push(waitingResponse('unreachable', Date.now() + 1000));
    await settle(30);
    socket.say('hello', 'beside');
    await until(() => connection.sent.filter(({ kind }) => kind === 'content').length === 2);
    connection.push(words('Hi.'), words('Hi.', true), { turnComplete: true });
    await socket.done();
    socket.send('message', decision(card));
    await socket.chunk('tool-output-available');
    connection.push(words('Paid.'), words('Paid.', true), { turnComplete: true });
    await socket.done(2);
    expect(socket.chunks.filter(({ type }) => type === 'data-waiting')).toEqual([]);
  });

  it.each(['while it speaks', 'while it rests'])(
    '[B13] [B14] a model that the person interrupts %s beside an open card has one [DONE] for that turn',
    async (when) => {
      const { connect, connection } = await native();
      const socket = await connect();
      socket.say('pay');
      await until(() => reportedSomething(connection));
      connection.push(pay);
      const card = await socket.chunk('tool-approval-request');
      connection.push(words('Please look.'));
      if (when === 'while it rests') connection.push(words('Please look.', true), { turnComplete: true });
      connection.push({ interrupted: true });
      if (when === 'while it speaks') connection.push({ turnComplete: true });
      await settle(30);
      expect(socket.dones).toBe(0);
      // Nothing keeps the next message waiting.
      socket.say('hello');
      await until(() => connection.sent.filter(({ kind }) => kind === 'content').length === 2);
      connection.push(words('Hi.'), words('Hi.', true), { turnComplete: true });
      await socket.done();
      socket.send('message', decision(card));
      await socket.chunk('tool-output-available');
      connection.push(words('Paid.'), words('Paid.', true), { turnComplete: true });
      await socket.done(2);
      await settle(30);
      expect(socket.dones).toBe(2);
      const ends = socket.chunks.flatMap((chunk) => (chunk.type === 'finish' ? [chunk.finishReason] : []));
      expect(ends).toEqual(['stop', 'stop']);
    },
  );

  it('[B13] a model that ends its turn beside an open card gets one [DONE], after the card is answered', async () => {
    const { connect, connection } = await native();
    const socket = await connect();
    socket.say('pay');
    await until(() => reportedSomething(connection));
    connection.push(pay);
    const card = await socket.chunk('tool-approval-request');
    connection.push(words('Please look.'), words('Please look.', true), { turnComplete: true });
    await settle(30);
    expect(socket.dones).toBe(0);
    socket.send('message', decision(card));
    await socket.chunk('tool-output-available');
    connection.push(words('Paid.'), words('Paid.', true), { turnComplete: true });
    await socket.done();
    await settle(30);
    expect(socket.dones).toBe(1);
    expect(socket.chunks.filter(({ type }) => type === 'finish')).toHaveLength(1);
  });
});

describe('agents and tools that are not made for live runs', () => {
  it('[S7] an agent that cannot run live says so, and the next message is answered as well', async () => {
    const model = new ScriptedModel([[text('One.')], [text('Two.')]]);
    const agent = new ParallelAgent({
      name: 'both',
      subAgents: [new LlmAgent({ name: 'one', model })],
    });
    const { connect } = await live([], [], { agent });
    const socket = await connect();
    socket.say('hello');
    await settle(60);
    expect(socket.dones).toBe(1);
    socket.say('again');
    await settle(60);
    expect(socket.dones).toBe(2);
  });

  it('[T2] a long-running tool of ADK runs on the server', async () => {
    const log: string[] = [];
    const tool = new LongRunningFunctionTool({
      name: 'order',
      description: 'Orders',
      parameters: z.object({}),
      execute: () => {
        log.push('order');
        return { ticket: 7 };
      },
    });
    const { connect } = await live([[call('order', {}, 'call-o')], [text('Ordered.')]], [tool]);
    const socket = await connect();
    socket.say('order');
    await settle(60);
    expect(log).toEqual(['order']);
    expect(socket.chunks.find(({ type }) => type === 'tool-input-start')).toMatchObject({
      toolMetadata: { runsOn: 'server' },
    });
  });
});

describe('a tool that asks while it runs', () => {
  it('[T12] runs again over BIDI when the user has approved, asks once, and the next message is answered', async () => {
    const tool = new FunctionTool({
      name: 'wipe',
      description: 'Wipes',
      parameters: z.object({}),
      execute: (_, context) => {
        context?.requestConfirmation({ hint: 'Really?' });
        return { wiped: false };
      },
    });
    const turns = [[call('wipe', {}, 'call-w')], [text('It asks again and again.')], [text('Yes?')]];
    const { connect } = await live(turns, [tool]);
    const socket = await connect();
    socket.say('wipe');
    const { toolCallId } = await socket.chunk('tool-approval-request');
    socket.send('tool_result', { toolCallId, status: 'approved' });
    await socket.done();
    expect(socket.chunks.filter(({ type }) => type === 'tool-output-error')).toEqual([
      {
        type: 'tool-output-error',
        toolCallId: 'call-w',
        errorText: 'wipe asked again for a confirmation it already had.',
      },
    ]);
    socket.say('hello');
    await socket.done(2);
  });
});

describe('posts beside a socket', () => {
  it('[B13b] a turn whose card a posted message supersedes ends', async () => {
    const world = await asked('pay');
    world.postMessage();
    await settle();
    world.model.complete();
    await settle();
    expect(world.page?.view.unfinished).toEqual([]);
    await world.shutDown();
  });

  it('[S8] a post that waited behind another can be stopped', async () => {
    const world = new World({ model: 'turns', approvals: 'sequential', whenBusy: 'queue' });
    world.postMessage();
    world.postMessage();
    await settle();
    world.model.complete();
    await settle();
    world.stop();
    await settle();
    expect(world.posts.map(({ isOver }) => isOver)).toEqual([true, true]);
    await world.shutDown();
  });

  it('[B22b] a post that waits when the server shuts down is refused or ends', async () => {
    const world = new World({ model: 'turns', approvals: 'sequential', whenBusy: 'queue' });
    world.postMessage();
    world.postMessage();
    await settle();
    await world.shutDown();
    await settle();
    expect(world.posts.map(({ isOver }) => isOver)).toEqual([true, true]);
  });

  it('[T17] a card that waited behind another one is shown when a post answers that one', async () => {
    const world = await asked('locate');
    world.say();
    await settle();
    world.model.call(['locate']);
    await settle();
    const [card] = world.seenCalls;
    world.page?.send('tool_result', { toolCallId: card?.id, status: 'approved' });
    await settle();
    world.model.generation?.end();
    world.postAnswer({ type: 'tool-locate', toolCallId: card?.id, state: 'output-available', output: {} });
    await settle();
    expect(world.seenCalls.map(({ id }) => id).sort()).toEqual(['c1', 'c2']);
    await world.shutDown();
  });
});

describe('messages and calls that cross', () => {
  it('[T18] the answer to a message that waited lands in its own message, when several calls were made before it', async () => {
    const world = new World({ model: 'turns', approvals: 'sequential', whenBusy: 'queue' });
    await world.join('lost');
    world.say();
    await settle();
    world.say();
    world.model.call(['locate', 'look_up', 'pay']);
    await settle();
    world.bench.running[0]?.end('returns');
    await settle();
    world.model.complete();
    await settle();
    const last = world.journal.chunks.flatMap(({ chunk }) =>
      chunk.type === 'start' ? [chunk.messageId] : [],
    );
    const finished = world.journal.chunks.findLastIndex(({ chunk }) => chunk.type === 'finish');
    const ended = world.journal.chunks
      .slice(0, finished)
      .findLast(({ chunk }) => chunk.type === 'start')?.chunk;
    expect(ended).toMatchObject({ messageId: [...new Set(last)][1] });
    await world.shutDown();
  });

  it('[R5] a page that loads everything while an earlier card is open shows no message twice', async () => {
    const world = await asked('pay');
    world.say();
    await settle();
    world.model.complete();
    await settle();
    await world.join('lost');
    await settle();
    const stored = await world.messages();
    const texts = [...(world.page?.view.messages.values() ?? [])].filter((message) =>
      message.includes('End.'),
    );
    expect(texts.map((message) => message.split('End.').length - 1)).toEqual([1]);
    expect(stored.filter(({ role }) => role === 'assistant')).toHaveLength(2);
    await world.shutDown();
  });

  it('[R5b] a page that loads everything in the middle of a message that an earlier process began gets all of it', async () => {
    const world = await asked('play');
    await world.shutDown();
    world.start();
    await world.join('back');
    await settle();
    world.page?.send('tool_result', { toolCallId: 'c1', result: {} });
    await settle();
    await world.join('lost');
    await settle();
    expect([...(world.page?.view.messages.values() ?? [])].join()).toContain('tool-play');
    await world.shutDown();
  });

  it('[C11] [R5b] a page that loads between two answers that go on in turn has the text of both', async () => {
    const world = await asked('pay');
    world.say();
    await settle();
    world.model.words();
    await settle();
    // The first message goes on, while the second is stored nowhere yet.
    world.page?.send('tool_result', { toolCallId: 'c1', status: 'rejected' });
    await settle();
    await world.join('lost');
    await settle();
    world.model.complete();
    await settle();
    world.model.complete();
    await settle();
    expect(await shownAndStored(world)).toEqual([]);
    await world.shutDown();
  });

  it('[C8] a decided card that is left out of a replay leaves no empty step', async () => {
    const world = await asked('pay');
    world.page?.send('tool_result', { toolCallId: 'c1', status: 'approved' });
    await settle();
    await world.join('lost');
    await settle();
    expect(world.page?.wrong).toEqual([]);
    await world.shutDown();
  });
});

describe('a process that dies', () => {
  it('[R7] a question whose answer waits with a call that no message shows yet is not asked again', async () => {
    const world = new World({ model: 'turns', approvals: 'sequential', whenBusy: 'queue' });
    await world.join('lost');
    world.say();
    await settle();
    world.say();
    await settle();
    world.model.complete();
    await settle();
    for (let i = 0; i < 10; i++) world.store.failOnce('putMessage');
    world.model.call(['pay']);
    await settle();
    world.kill();
    world.store.repair();
    await settle();
    world.start();
    await world.join('back');
    await settle();
    expect(world.model.reported).toEqual([]);
    expect((await world.openCalls()).map(({ id }) => id)).toEqual(['c1']);
    expect((await world.messages()).map(({ id }) => id).filter((id) => id === 'm2')).toHaveLength(1);
    await world.shutDown();
  });
});

describe('a process that dies when ADK has stored a call and nobody has written it down', () => {
  it.each(['turns', 'live'] as const)(
    '[T1] [R7] leaves no call open: the question is asked again, with a model of the kind %s',
    async (model) => {
      const world = new World({ model, approvals: 'sequential', whenBusy: 'queue' });
      await world.join('lost');
      world.say(true);
      await settle();
      world.store.hold('issueCalls');
      world.model.call(['pay']);
      await settle();
      expect(calledIn(await world.events())).toEqual(['c1']);
      world.kill();
      await settle();
      world.start();
      await world.join('back');
      await settle();
      expect(world.model.reported.join()).toContain('m1');
      world.model.call(['pay']);
      await settle();
      expect((await world.openCalls()).map(({ id }) => id)).toEqual(['c2']);
      world.page?.send('tool_result', { toolCallId: 'c2', status: 'rejected' });
      await settle();
      world.model.complete();
      await settle();
      expect(answeredIn(await world.events()).sort()).toEqual(['c1', 'c2']);
      await world.shutDown();
    },
  );
});

describe('a card whose time is up', () => {
  it.each(['approved', 'rejected'] as const)(
    '[T9] [T12] that was %s in time is decided so, though the disk took longer than it had',
    async (status) => {
      const world = await asked('pay');
      world.store.hold();
      world.page?.send('tool_result', { toolCallId: 'c1', status });
      await settle();
      world.pass(31_000);
      await settle();
      world.store.release();
      await settle();
      const isApproved = status === 'approved';
      expect(world.bench.runs.map(({ callId }) => callId)).toEqual(isApproved ? ['c1'] : []);
      expect((await world.auditLog()).map(({ kind }) => kind)).toEqual(
        isApproved ? ['issued', 'approved', 'consumed'] : ['issued', 'denied'],
      );
      world.bench.running[0]?.end('returns');
      await settle();
      world.model.complete();
      await settle();
      expect(JSON.stringify(await world.messages())).not.toContain('timed out');
      expect(await shownAndStored(world)).toEqual([]);
      await world.shutDown();
    },
  );

  it('[T9] a decision that comes behind it is refused, and nothing runs', async () => {
    const world = await asked('pay');
    world.store.hold();
    world.pass(31_000);
    world.page?.send('tool_result', { toolCallId: 'c1', status: 'approved' });
    await settle();
    world.store.release();
    await settle();
    expect(world.bench.runs).toEqual([]);
    expect((await world.auditLog()).map(({ kind }) => kind)).toEqual(['issued', 'expired']);
    expect(world.page?.view.messages.size).toBe(1);
    await world.shutDown();
  });
});

describe('a disk that fails', () => {
  it('[E3] its words reach nobody when a call cannot be written down', async () => {
    const world = new World({ model: 'turns', approvals: 'sequential', whenBusy: 'queue' });
    await world.join('lost');
    world.say();
    await settle();
    world.store.failOnce('issueCalls');
    world.model.call(['look_up']);
    await settle();
    expect(JSON.stringify(world.journal.chunks)).not.toContain('The disk is full.');
    await world.shutDown();
  });

  it('[T22] a tool whose start cannot be written down runs when the disk works again', async () => {
    const world = new World({ model: 'turns', approvals: 'sequential', whenBusy: 'queue' });
    await world.join('lost');
    world.say();
    await settle();
    world.store.failOnce('moveCall');
    world.model.call(['look_up']);
    await settle();
    expect(world.bench.runs).toEqual([]);
    world.pass(1_000);
    await settle();
    expect(world.bench.runs.map(({ callId }) => callId)).toEqual(['c1']);
    await world.shutDown();
  });

  it('[T1] a call whose deadline cannot be written down is answered once', async () => {
    const world = new World({ model: 'turns', approvals: 'sequential', whenBusy: 'queue' });
    await world.join('lost');
    world.say();
    await settle();
    world.store.failOnce('moveCall');
    world.model.call(['locate']);
    await settle();
    world.page?.send('interrupt');
    await settle();
    const answers = (await world.events()).flatMap(({ content }) =>
      (content?.parts ?? []).filter((part) => part.functionResponse?.id === 'c1'),
    );
    expect(answers).toHaveLength(1);
    await world.shutDown();
  });

  it.each(['turns', 'live'] as const)(
    '[C9] nothing is heard of a card that cannot be written down, with a model of the kind %s',
    async (model) => {
      const world = new World({ model, approvals: 'sequential', whenBusy: 'queue' });
      await world.join('lost');
      world.say();
      await settle();
      world.store.failOnce('moveCall');
      world.model.call(['pay']);
      await settle();
      expect(JSON.stringify(world.journal.chunks)).not.toContain('"c1"');
      await world.shutDown();
    },
  );

  it('[E4] [B25] a message that the history does not take is refused, and not stored', async () => {
    const world = await asked('pay');
    world.store.failOnce('appendEvent');
    world.say(true);
    await settle();
    expect([...(world.page?.refused ?? [])]).toEqual(['r2']);
    expect((await world.messages()).map(({ id }) => id)).not.toContain('m2');
    await world.shutDown();
  });

  it('[B25a] [B16] a message that was accepted while it waited is begun again when the disk works', async () => {
    const world = new World({ model: 'turns', approvals: 'sequential', whenBusy: 'queue' });
    await world.join('lost');
    world.say(true);
    await settle();
    world.say(true);
    await settle();
    // The first is the end of the answer before, which is sent all the same.
    world.store.failOnce('putMessage');
    world.store.failOnce('putMessage');
    world.model.complete();
    await settle();
    expect(world.store.isFailing).toBe(false);
    expect((await world.messages()).map(({ id }) => id)).not.toContain('m2');
    world.pass(1_000);
    await settle();
    world.model.complete();
    await settle();
    const answer = world.page?.accepted.get('r2');
    expect([...(world.page?.refused ?? [])]).toEqual([]);
    expect((await world.messages()).map(({ id }) => id)).toContain('m2');
    expect(world.page?.view.messages.get(answer ?? '')).toContain('End.');
    await world.shutDown();
  });

  it('[E4] [B2] whoever said something that cannot be kept is told, and may say it again', async () => {
    const store = createMemoryStore();
    const { connect } = await live([[text('one')], [text('two')]], [], { store });
    const socket = await connect();
    socket.say('hello');
    await socket.done();
    const { putMessage } = store;
    store.putMessage = () => Promise.reject(new Error('The disk is full.'));
    const again = {
      requestId: 'request',
      messages: [{ id: 'again', role: 'user', parts: [{ type: 'text', text: 'again' }] }],
    };
    socket.send('message', again);
    await socket.until((all) => all.some((one) => one.kind === 'chunk' && one.chunk.type === 'data-error'));
    store.putMessage = putMessage;
    socket.send('message', again);
    await socket.done(2);
    expect(socket.chunks.filter((chunk) => chunk.type === 'text-delta')).toMatchObject([
      { delta: 'one' },
      { delta: 'two' },
    ]);
  });
});
