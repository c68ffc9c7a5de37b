import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import { createMemoryStore, type Store } from '../../src/server/index.ts';
import { failOnUnhandled } from '../contract/support/unhandled.ts';
import { turns } from '../server/support/turns.ts';
import { ManualClock } from '../support/clock.ts';
import { fourTools } from '../support/demo-tools.ts';
import { decision, live } from '../support/live.ts';
import { call, calls, partial, type ScriptedTurn, text } from '../support/scripted-model.ts';
import { settled } from '../support/settled.ts';

failOnUnhandled();

const PAY_ALICE = { id: 'call-a', name: 'process_payment', args: { amount: 30, recipient: 'Alice' } };

/** A plain tool around some code. */
function tool(execute: () => unknown, needsApproval = false) {
  return defineTool({
    name: 'odd',
    description: 'Odd',
    parameters: z.object({}),
    needsApproval,
    execute: execute as () => Promise<unknown>,
  });
}

const cyclic = () => {
  const value: Record<string, unknown> = { name: 'loop' };
  value.self = value;
  return value;
};
const deep = () => {
  let value: unknown = 1;
  for (let i = 0; i < 20_000; i++) value = [value];
  return value;
};

describe('a tool that gives something odd', () => {
  const UNWRITABLE = 'odd ran, but its output cannot be written as JSON.';

  it.each([
    ['a circle', cyclic, { errorText: UNWRITABLE }],
    ['a bigint', () => 10n, { output: '10' }],
    ['a tower', deep, { errorText: UNWRITABLE }],
    [
      'something that fails when written',
      () => ({
        toJSON() {
          throw new Error('secret');
        },
      }),
      { errorText: UNWRITABLE },
    ],
    ['nothing', () => undefined, { output: {} }],
    ['a function', () => () => 1, { output: null }],
    ['a date', () => new Date(0), { output: '1970-01-01T00:00:00.000Z' }],
    ['a map', () => new Map([[1, 2]]), { output: {} }],
    ['what is no number', () => ({ n: Number.NaN }), { output: { n: null } }],
    [
      'hostile keys',
      () => JSON.parse('{"__proto__":{"polluted":true}}'),
      { output: JSON.parse('{"__proto__":{"polluted":true}}') },
    ],
  ])('[C9] %s ends the call in order, and the turn goes on', async (_name, give, end) => {
    const server = await live([[call('odd')], [text('Well.')]], [tool(give)]);
    const socket = await server.connect();
    socket.say('go');
    await socket.done();
    const output = socket.chunks.find((chunk) => chunk.type.startsWith('tool-output'));
    expect(output).toMatchObject(end);
    expect(socket.chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' });
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it.each([
    ['a text', 'no luck', 'no luck'],
    ['nothing', undefined, 'undefined'],
    ['an object without a prototype', Object.create(null), 'Cannot convert object to primitive value'],
    ['a promise', Promise.resolve(1), '[object Promise]'],
    ['an error whose message is no text', Object.assign(new Error('x'), { message: 5 }), '5'],
  ])('throws %s: the call fails and the turn goes on', async (_name, thrown, errorText) => {
    const throwing = () => {
      throw thrown;
    };
    const server = await live([[call('odd')], [text('Well.')]], [tool(throwing)]);
    const socket = await server.connect();
    socket.say('go');
    await socket.done();
    expect(await socket.chunk('tool-output-error')).toMatchObject({ errorText });
  });

  it('writes something into the state that has no JSON: the call fails, the session lives', async () => {
    const bad = defineTool({
      name: 'odd',
      description: 'Odd',
      parameters: z.object({}),
      execute: (_args, context) => {
        context.state.set('loop', cyclic());
        return { ok: true };
      },
    });
    const server = await live([[call('odd')], [text('Well.')], [text('Still here.')]], [bad]);
    const socket = await server.connect();
    socket.say('go');
    await socket.done();
    expect(socket.chunks.filter(({ type }) => type === 'tool-output-error')).toHaveLength(1);
    socket.say('there?');
    await socket.done(2);
  });

  it('[R4] gives 20 MB: it arrives, and what is kept for those who come back stays small', async () => {
    const server = await live(
      [[call('odd')], [text('Big.')], [text('Small.')]],
      [tool(() => ({ data: 'x'.repeat(20 * 1024 * 1024) }))],
    );
    const socket = await server.connect('?session=big');
    socket.say('go');
    await socket.done();
    const output = await socket.chunk('tool-output-available');
    expect((output.output as { data: string }).data).toHaveLength(20 * 1024 * 1024);
    const back = await server.connect('?session=big&last=gone-1');
    // A reset is a page: the newest message alone is larger than one, and the question is on the page before.
    const { messages, older } = (await back.chunk('data-reset')).data;
    expect([messages.map(({ id }) => id), messages.length]).toEqual([[older], 1]);
    back.say('more');
    await back.done();
  });
});

describe('a tool that never returns', () => {
  const never = () => new Promise<never>(() => undefined);

  it('[B6] is left behind by an interruption, and the next message works', async () => {
    const server = await live([[call('odd')], [text('Yes?')]], [tool(never)]);
    const socket = await server.connect();
    socket.say('go');
    await socket.chunk('tool-input-available');
    await settled();
    socket.send('interrupt');
    await socket.done();
    expect((await socket.chunk('tool-output-error')).errorText).toBe('Interrupted by the user');
    socket.say('hello');
    await socket.done(2);
  });

  it('[B7] holds up no ping and no answer to another message', async () => {
    const server = await live([[call('odd')]], [tool(never)]);
    const socket = await server.connect();
    socket.say('go');
    await socket.chunk('tool-input-available');
    socket.send('ping', { timestamp: 7 });
    await socket.until((all) => all.some((one) => one.kind === 'raw'));
  });

  it('[B22] does not keep the server from closing, in either mode', async () => {
    const server = await live([[call('odd')], [call('odd')]], [tool(never)]);
    const socket = await server.connect('?session=live');
    socket.say('go');
    await socket.chunk('tool-input-available');
    const posted = server.duologue
      .fetch(
        new Request('http://localhost/stream', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            id: 'post',
            messages: [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'go' }] }],
          }),
        }),
      )
      .then((response) => response.text());
    await settled();
    await server.served.close();
    expect(await socket.closed()).toBe(1012);
    expect(await posted).toContain('[DONE]');
  });

  it('[B22] a model that listens to no abort does not keep the server from closing either', async () => {
    const deaf: ScriptedTurn = async function* () {
      yield partial('I go on');
      await never();
    };
    const server = await live([deaf, deaf]);
    const socket = await server.connect('?session=live');
    socket.say('go');
    await socket.chunk('text-delta');
    const posted = server.duologue.fetch(
      new Request('http://localhost/stream', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          id: 'post',
          messages: [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'go' }] }],
        }),
      }),
    );
    await posted;
    await settled();
    await server.served.close();
    expect(await socket.closed()).toBe(1012);
  });

  it('[B23a] outlives its grace; what it gives later is kept, and the agent ends its answer', async () => {
    const clock = new ManualClock();
    let give: (value: unknown) => void = () => undefined;
    const late = tool(
      () =>
        new Promise((resolve) => {
          give = resolve;
        }),
    );
    const server = await live([[call('odd')], [text('There it is.')]], [late], {
      clock,
      toolTimeoutMs: null,
      socketLimits: { silenceMs: Number.POSITIVE_INFINITY },
    });
    const socket = await server.connect('?session=late');
    socket.say('go');
    await socket.chunk('tool-input-available');
    await settled();
    socket.socket.terminate();
    await settled();
    clock.advance(61_000);
    await settled();
    // The session is not forgotten while its tool runs.
    clock.advance(10 * 60_000);
    await settled();
    give({ found: true });
    await settled();
    expect(server.model.requests).toHaveLength(2);
    const stored = (await (await server.get('/sessions/late')).json()) as { messages: unknown[] };
    expect(JSON.stringify(stored.messages[1])).toContain('"found":true');
    const back = await server.connect('?session=late');
    back.say('and?');
    await back.until(() => {
      clock.advance(20);
      return back.dones >= 1;
    });
    expect(JSON.stringify(server.model.lastContents)).toContain('"found":true');
  });
});

describe('an interruption in the very moment', () => {
  /** A store whose writes of new calls wait until they are released. */
  function slowLedger(): { store: Store; release: () => void; isHeld: () => boolean } {
    const store = createMemoryStore();
    let release: () => void = () => undefined;
    let held = false;
    const { issueCalls } = store;
    store.issueCalls = async (...args) => {
      held = true;
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return issueCalls.apply(store, args);
    };
    return { store, release: () => release(), isHeld: () => held };
  }

  it.each([
    ['one that asks', fourTools().payment, PAY_ALICE],
    ['a plain one', fourTools().weather, { id: 'call-a', name: 'get_weather', args: { location: 'Oslo' } }],
    ['one of the browser', fourTools().music, { id: 'call-a', name: 'change_bgm', args: { track: 1 } }],
  ])(
    '[B6] while a call is written down, %s, shows nothing of it and leaves nothing open',
    async (_name, one, made) => {
      const { store, release, isHeld } = slowLedger();
      const server = await live([[calls(made)], [text('Fine.')]], [one], { store });
      const socket = await server.connect('?session=moment');
      socket.say('go');
      await turns(isHeld);
      socket.send('interrupt');
      await socket.done();
      release();
      await settled();
      expect(socket.chunks.map(({ type }) => type)).toEqual(['start', 'finish']);
      expect(await store.openCalls({ app: 'duologue', user: 'live_user', id: 'moment' })).toEqual([]);
      socket.say('hello');
      await socket.done(2);
      expect(socket.chunks.at(-1)).toMatchObject({ finishReason: 'stop' });
    },
  );

  it('[B6] when the tool ends as the person stops it, the call has one end and the turn, too', async () => {
    for (const first of ['tool', 'person']) {
      let give: (value: unknown) => void = () => undefined;
      const racing = tool(
        () =>
          new Promise((resolve) => {
            give = resolve;
          }),
      );
      const server = await live([[call('odd')], [text('Done.')], [text('Next.')]], [racing]);
      const socket = await server.connect();
      socket.say('go');
      await socket.chunk('tool-input-available');
      await settled();
      if (first === 'tool') give({ ok: true });
      socket.send('interrupt');
      if (first === 'person') {
        await socket.chunk('tool-output-error');
        give({ ok: true });
      }
      await socket.done();
      await settled();
      expect(socket.chunks.filter(({ type }) => type.startsWith('tool-output'))).toHaveLength(1);
      expect(socket.chunks.filter(({ type }) => type === 'finish')).toHaveLength(1);
      socket.say('next');
      await socket.done(2);
      expect(socket.chunks.filter(({ type }) => type === 'finish')).toHaveLength(2);
    }
  });
});

describe('an answer in the very moment', () => {
  it('[T16] [T12] of its expiry counts or not, but never both', async () => {
    for (const order of ['expiry first', 'answer first']) {
      const log: string[] = [];
      const clock = new ManualClock();
      const { payment } = fourTools(log);
      const server = await live([[calls(PAY_ALICE)], [text('So.')]], [payment], { clock });
      const socket = await server.connect();
      socket.say('pay');
      const card = await socket.chunk('tool-approval-request');
      if (order === 'answer first') {
        socket.send('message', decision(card));
        await socket.until(() => log.length > 0, 'the payment');
        clock.advance(30_000);
      } else {
        clock.advance(30_000);
        socket.send('message', decision(card));
      }
      await socket.until(() => {
        clock.advance(20);
        return socket.dones === 1;
      });
      expect(socket.chunks.filter(({ type }) => type.startsWith('tool-output'))).toHaveLength(1);
      expect(log).toEqual(order === 'answer first' ? ['pay Alice 30'] : []);
    }
  });

  it('[R7] [T12] [T15b] a decision whose process died before the tool ran is carried out when the person is back, once', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const store = createMemoryStore();
    const { moveCall } = store;
    let isDead = false;
    // The process "dies" between the decision and its use.
    store.moveCall = async (key, move, line) => {
      if (isDead && move.to === 'running') throw new Error('dead');
      return moveCall.call(store, key, move, line);
    };
    store.close = async () => undefined;
    const before = await live([[calls(PAY_ALICE)]], [payment], { store, approvalTimeoutMs: 30_000 });
    const first = await before.connect('?session=died');
    first.say('pay');
    const card = await first.chunk('tool-approval-request');
    isDead = true;
    first.send('message', decision(card));
    await first.chunk('data-error');
    await before.served.close();
    isDead = false;
    const clock = new ManualClock(Date.now() + 60_000);
    const after = await live([[text('Paid.')]], [payment], { store, clock });
    const second = await after.connect(`?session=died&last=${first.lastId}`);
    await second.chunk('tool-output-available');
    await second.until(() => {
      clock.advance(20);
      return second.dones === 1;
    });
    expect(log).toEqual(['pay Alice 30']);
    // Its timeout has passed, and no timer of it is left.
    expect(clock.pending).toBeLessThan(10);
  });

  it('[B2a] [R7] a message sent again after its process died without a word is answered; one that was answered is not', async () => {
    const store = createMemoryStore();
    store.close = async () => undefined;
    const mute: ScriptedTurn = async function* () {
      await new Promise(() => undefined);
    };
    const before = await live([mute], [], { store });
    const first = await before.connect('?session=again');
    first.say('hello', 'm-1');
    await first.chunk('start');
    await before.served.close();
    const after = await live([[text('Hello.')]], [], { store });
    const second = await after.connect(`?session=again&last=${first.lastId}`);
    second.say('hello', 'm-1');
    await second.done();
    second.say('hello', 'm-1');
    await settled();
    expect([second.dones, after.model.requests.length]).toEqual([1, 1]);
    expect(await (await after.get('/sessions/again')).json()).toMatchObject({
      messages: [{ id: 'm-1' }, { parts: [{ text: 'Hello.' }] }],
    });
  });
});
