import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/adk/index.ts';
import type { Message } from '../../src/protocol/index.ts';
import { fourTools } from '../support/demo-tools.ts';
import { type Harness, harness, read, say, shape } from '../support/harness.ts';
import { call, partial, type ScriptedFunction, streamed, text } from '../support/scripted-model.ts';
import { sdks } from '../support/sdks.ts';
import { answerBody, answers, approve } from './support/answers.ts';
import { cards, client } from './support/chat.ts';
import { fakeClock } from './support/clock.ts';
import { type Latch, latch, listen } from './support/listen.ts';
import { turns } from './support/turns.ts';

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value));

/** A model call that says its words and waits at a door after the first. */
function halting(adapter: Latch, first: string, ...rest: string[]): ScriptedFunction {
  return async function* (_request, _stream, signal) {
    yield partial(first);
    await Promise.race([
      adapter.opened,
      new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve())),
    ]);
    if (signal?.aborted) return;
    for (const piece of rest) yield partial(piece);
    yield text([first, ...rest].join(''));
  };
}

async function open({ duologue }: Harness, body: object) {
  return listen(
    await duologue.fetch(
      new Request('http://localhost/stream', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    ),
  );
}

const messagesOf = async ({ get }: Harness): Promise<Message[]> =>
  (await (await get('/sessions/chat-1')).json()).messages;

describe.each(sdks)('a page of ai %s that is loaded again', (_, sdk) => {
  const approvalHelper = sdk.lastAssistantMessageIsCompleteWithApprovalResponses;

  it('[R3b] in mid-answer goes on with the answer, and nothing is lost or repeated', async () => {
    const adapter = latch();
    const made = harness([halting(adapter, 'One ', 'two ', 'three.')]);
    const before = client(sdk, made.duologue);
    const sending = before.chat.sendMessage({ text: 'count' });
    await before.until(({ messages }) => messages.length === 2);
    const after = client(sdk, made.duologue, { messages: await messagesOf(made) });
    const resuming = after.chat.resumeStream();
    await after.until(({ messages }) => messages.length === 2);
    adapter.open();
    await Promise.all([sending, resuming]);
    await after.quiet();
    expect(plain(after.answer()).parts).toEqual([{ type: 'text', text: 'One two three.', state: 'done' }]);
    expect(plain(after.answer())).toEqual(plain(before.answer()));
    expect((await messagesOf(made))[1]).toEqual(plain(after.answer()));
  });

  it('[R3a] during a continuation shows the whole message, and the decided card is not asked again', async () => {
    const adapter = latch();
    const { payment } = fourTools();
    const made = harness(
      [[call('process_payment', { amount: 50, recipient: 'Hanako' })], halting(adapter, 'Paid ', 'it.')],
      [payment],
    );
    const before = client(sdk, made.duologue, { sendAutomaticallyWhen: approvalHelper });
    await before.chat.sendMessage({ text: 'pay' });
    await before.quiet();
    const [id = ''] = cards(before.answer());
    await before.chat.addToolApprovalResponse({ id, approved: true });
    await before.until(({ messages }) => messages[1]?.parts.length === 2);
    const after = client(sdk, made.duologue, {
      messages: await messagesOf(made),
      sendAutomaticallyWhen: approvalHelper,
    });
    const resuming = after.chat.resumeStream();
    await after.until(({ messages }) => messages[1]?.parts.length === 2);
    adapter.open();
    await resuming;
    await Promise.all([before.quiet(), after.quiet()]);
    const [whole] = (await messagesOf(made)).slice(-1);
    expect(plain(before.answer())).toEqual(whole);
    const [tool, ...rest] = whole?.parts ?? [];
    const { approval: _approval, ...undecided } = tool as { approval?: unknown };
    expect(plain(after.answer())).toEqual({ ...whole, parts: [undecided, ...rest] });
    expect(after.exchanges.map(({ status }) => status)).toEqual([200]);
    expect(made.model.requests).toHaveLength(2);
  });

  it('[R1] with an open card shows it from the stored messages; there is nothing to resume', async () => {
    const { payment } = fourTools();
    const made = harness(
      [[call('process_payment', { amount: 50, recipient: 'Hanako' })], [text('Paid.')]],
      [payment],
    );
    const before = client(sdk, made.duologue);
    await before.chat.sendMessage({ text: 'pay' });
    await before.quiet();
    const after = client(sdk, made.duologue, {
      messages: await messagesOf(made),
      sendAutomaticallyWhen: approvalHelper,
    });
    await after.chat.resumeStream();
    await after.quiet();
    expect(after.exchanges).toMatchObject([{ method: 'GET', path: '/stream/chat-1/stream', status: 204 }]);
    expect(plain(after.answer())).toEqual(plain(before.answer()));
    const [id = ''] = cards(after.answer());
    await after.chat.addToolApprovalResponse({ id, approved: true });
    await after.quiet();
    expect(plain(after.answer()).parts).toMatchObject([
      { state: 'output-available', approval: { id, approved: true } },
      { type: 'text', text: 'Paid.' },
    ]);
    expect((await messagesOf(made))[1]).toEqual(plain(after.answer()));
  });
});

describe('a client that names the last chunk it has', () => {
  const script = () => {
    const { payment, weather } = fourTools();
    return harness(
      [
        [...streamed('Let ', 'me.').slice(0, 2), call('get_weather', { location: 'Oslo' })],
        [call('process_payment', { amount: 50, recipient: 'Hanako' })],
        streamed('All ', 'done.'),
      ],
      [payment, weather],
    );
  };

  it('[R2] gets every later chunk once, wherever it was cut off, of a response that is over', async () => {
    const made = script();
    const first = await made.post(say('go'));
    const whole = [...first.chunks];
    const ids = [...first.ids];
    for (const [index, last] of ids.slice(0, -1).entries()) {
      for (const headers of [{}, { 'last-event-id': String(last) }]) {
        const query = 'last-event-id' in headers ? '' : `?last=${last}`;
        const rest = await read(
          await made.get(`/stream/chat-1/stream${query}`, headers as Record<string, string>),
        );
        expect(rest.status).toBe(200);
        expect([...whole.slice(0, index + 1), ...rest.chunks]).toEqual(whole);
        expect(rest.ids).toEqual(ids.slice(index + 1));
        expect(rest.dones).toBe(1);
      }
    }
    const second = await answers(made, first, approve());
    const all = [...whole, ...second.chunks];
    const allIds = [...ids, ...second.ids];
    for (const [index, last] of allIds.slice(0, -1).entries()) {
      const rest = await read(await made.get(`/stream/chat-1/stream?last=${last}`));
      expect([...all.slice(0, index + 1), ...rest.chunks]).toEqual(all);
      expect(rest.dones).toBe(1);
    }
    expect(new Set(allIds).size).toBe(allIds.length);
  });

  it('[R2] gets the rest of a response that is still coming', async () => {
    const adapter = latch();
    const made = harness([halting(adapter, 'One ', 'two ', 'three.')]);
    const cut = await open(made, say('count'));
    await cut.until((chunks) => chunks.some(({ type }) => type === 'text-delta'));
    const seen = [...cut.chunks];
    const last = cut.ids.at(-1);
    await cut.leave();
    const rest = listen(await made.get(`/stream/chat-1/stream?last=${last}`));
    adapter.open();
    await rest.end();
    expect(rest.isDone()).toBe(true);
    const deltas = [...seen, ...rest.chunks].flatMap((chunk) =>
      chunk.type === 'text-delta' ? [chunk.delta] : [],
    );
    expect(deltas.join('')).toBe('One two three.');
    expect(shape([...seen, ...rest.chunks])).toEqual([
      'start',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
    ]);
  });

  it('[R2b] a client that has all but the end gets 204, as an EventSource that comes back wants', async () => {
    const made = harness([streamed('Hello')]);
    const { ids } = await made.post(say('hi'));
    const [before, last] = ids.slice(-2);
    const resumed = (id: string | undefined) =>
      made.get('/stream/chat-1/stream', { 'last-event-id': String(id) });
    expect((await resumed(last)).status).toBe(204);
    expect((await read(await resumed(before))).chunks.map(({ type }) => type)).toEqual(['finish']);
  });

  it('[R5] an id of another epoch is as none: 204 when nothing runs, else the message from its start', async () => {
    const adapter = latch();
    const made = harness([[text('One.')], halting(adapter, 'Two ', 'more.')]);
    await made.post(say('one'));
    for (const last of ['other-1', 'garbage', '-', 'x'.repeat(5000)]) {
      expect((await made.get(`/stream/chat-1/stream?last=${last}`)).status).toBe(204);
    }
    const running = await open(made, say('two'));
    await running.until((chunks) => chunks.length > 2);
    const resumed = listen(await made.get('/stream/chat-1/stream?last=other-1'));
    await resumed.until((chunks) => chunks.length >= running.chunks.length);
    adapter.open();
    await Promise.all([running.end(), resumed.end()]);
    expect(resumed.chunks).toEqual(running.chunks);
  });

  it('[R4] chunks are kept for five minutes; afterwards the stored messages are what there is', async () => {
    const clock = fakeClock();
    const made = harness([[text('Hi.')]], [], { clock });
    const { ids } = await made.post(say('hi'));
    const resume = async () => (await made.get(`/stream/chat-1/stream?last=${ids[0]}`)).status;
    const pass = async (minutes: number) => {
      for (let minute = 0; minute < minutes; minute++) {
        clock.pass(60_000);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await pass(4);
    expect(await resume()).toBe(200);
    await pass(7);
    expect(await resume()).toBe(204);
    expect((await messagesOf(made))[1]?.parts).toEqual([{ type: 'text', text: 'Hi.', state: 'done' }]);
  });

  it('[R1] a session that is not there has nothing to resume', async () => {
    const made = harness([]);
    expect((await made.get('/stream/nobody/stream')).status).toBe(204);
    expect((await made.get('/sessions')).status).toBe(200);
    expect(await (await made.get('/sessions')).json()).toEqual({ sessions: [] });
  });
});

describe('going away and stopping', () => {
  it('[S8] a client that goes away does not stop the turn', async () => {
    const adapter = latch();
    const made = harness([halting(adapter, 'One ', 'two.')]);
    const gone = await open(made, say('count'));
    await gone.until((chunks) => chunks.length > 2);
    await gone.leave();
    adapter.open();
    await turns(() => made.model.left === 0);
    const { messages } = await waitIdle(made);
    expect(messages[1]?.parts).toEqual([{ type: 'text', text: 'One two.', state: 'done' }]);
  });

  it('[S8a] [S8b] stop ends the text; what was said stays in the history and the next turn works', async () => {
    const made = harness([halting(latch(), 'One ', 'two.'), [text('Again.')]]);
    const running = await open(made, say('count'));
    await running.until((chunks) => chunks.some(({ type }) => type === 'text-delta'));
    expect(await stop(made)).toEqual({ stopped: true });
    await running.end();
    expect(running.chunks.slice(1)).toEqual([
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'One ' },
      { type: 'text-end', id: '0' },
      { type: 'finish', finishReason: 'other', messageMetadata: { usage: null, interrupted: true } },
    ]);
    expect(running.isDone()).toBe(true);
    expect(await stop(made)).toEqual({ stopped: false });
    await made.post(say('more'));
    expect(made.model.lastContents.map(({ role, parts }) => [role, parts?.[0]?.text])).toEqual([
      ['user', 'count'],
      ['model', 'One '],
      ['user', 'more'],
    ]);
    const [, stopped] = await messagesOf(made);
    expect(stopped).toMatchObject({
      metadata: { interrupted: true },
      parts: [{ text: 'One ', state: 'done' }],
    });
  });

  it('[S8a] stop ends a tool that ADK runs, and the history stays sound', async () => {
    let aborted = false;
    const started = latch();
    const slow = defineTool({
      name: 'slow',
      description: 'Takes for ever',
      execute: (_args, context) =>
        new Promise(() => {
          context.abortSignal?.addEventListener('abort', () => {
            aborted = true;
          });
          started.open();
        }),
    });
    const made = harness([[call('slow')], [text('Again.')]], [slow]);
    const running = await open(made, say('go'));
    await started.opened;
    await stop(made);
    await running.end();
    expect(aborted).toBe(true);
    expect(shape(running.chunks)).toEqual([
      'start',
      'tool-input-start',
      'tool-input-available',
      'tool-output-error',
      'finish',
    ]);
    expect(running.chunks.at(-2)).toMatchObject({ errorText: 'Interrupted by the user' });
    await made.post(say('more'));
    expect(made.model.lastContents.map(({ parts }) => parts?.[0]?.functionResponse?.response)).toEqual([
      undefined,
      undefined,
      { error: 'Interrupted by the user' },
      undefined,
    ]);
  });

  it('[S8a] stop ends an approved tool that does not listen, and starts none of those that follow', async () => {
    const log: string[] = [];
    const started = latch();
    const tool = defineTool({
      name: 'slow',
      description: 'Takes for ever',
      needsApproval: true,
      execute: () => {
        log.push('run');
        started.open();
        return new Promise(() => undefined);
      },
    });
    const made = harness([[{ ...call('slow'), content: twoCalls }], [text('Again.')]], [tool]);
    const first = await made.post(say('go'));
    const running = await open(made, answerBody(first, [approve(0), approve(1)]));
    await started.opened;
    await stop(made);
    await running.end();
    expect(log).toEqual(['run']);
    expect(shape(running.chunks)).toEqual(['start', 'tool-output-error', 'tool-output-error', 'finish']);
    expect(running.chunks.at(-1)).toMatchObject({
      finishReason: 'other',
      messageMetadata: { interrupted: true },
    });
    await made.post(say('more'));
    expect(log).toEqual(['run']);
    expect((await messagesOf(made))[1]?.parts).toMatchObject([
      { state: 'output-error', errorText: 'Interrupted by the user' },
      { state: 'output-error', errorText: 'Interrupted by the user' },
    ]);
  });

  it('[S10] [S10a] posts wait their turn; when 16 wait the next is busy', async () => {
    const adapter = latch();
    const made = harness(
      [halting(adapter, 'One ', 'two.'), ...Array.from({ length: 16 }, (_, n) => [text(`${n}`)])],
      [],
      {
        rateLimit: false,
      },
    );
    const running = await open(made, say('first'));
    await running.until((chunks) => chunks.length > 2);
    const waiting = Array.from({ length: 16 }, (_, n) => made.post(say(`q${n}`)));
    await turns(() => true);
    for (let n = 0; n < 50; n++) await new Promise((resolve) => setImmediate(resolve));
    const refused = await made.post(say('too many'));
    expect([refused.status, (refused.json as { error: { code: string } }).error.code]).toEqual([429, 'busy']);
    expect(refused.headers.get('retry-after')).toBe('2');
    adapter.open();
    const answered = await Promise.all(waiting);
    expect(answered.map(({ chunks }) => chunks.find(({ type }) => type === 'text-delta'))).toEqual(
      Array.from({ length: 16 }, (_, n) => ({ type: 'text-delta', id: '0', delta: `${n}` })),
    );
    await running.end();
  });
});

const twoCalls = {
  role: 'model',
  parts: [{ functionCall: { name: 'slow', args: {} } }, { functionCall: { name: 'slow', args: {} } }],
};

describe('connections that are quiet, slow or stuck', () => {
  it('[S9] a keep-alive comment every 3 seconds while a tool is slow', async () => {
    const clock = fakeClock();
    const started = latch();
    const adapter = latch();
    const slow = defineTool({
      name: 'slow',
      description: 'Takes its time',
      execute: async () => {
        started.open();
        await adapter.opened;
        return { done: true };
      },
    });
    const made = harness([[call('slow')], [text('Done.')]], [slow], { clock });
    const running = await open(made, say('go'));
    await started.opened;
    await running.until((chunks) => chunks.length === 3);
    for (let beats = 1; beats <= 3; beats++) {
      clock.pass(3000);
      await turns(() => running.raw().split(': keep-alive\n\n').length === beats + 1);
    }
    adapter.open();
    await running.end();
    expect(shape(running.chunks).at(-1)).toBe('finish');
  });

  it('[S3] what gathers waits for a window of a few milliseconds, what a person waits for does not', async () => {
    const clock = fakeClock();
    const adapter = latch();
    const started = latch();
    const tool = defineTool({
      name: 'slow',
      description: 'd',
      execute: async () => {
        started.open();
        await adapter.opened;
        return {};
      },
    });
    const made = harness([[partial('a'), partial('b'), call('slow')], [text('Done.')]], [tool], { clock });
    const running = await open(made, say('go'));
    await started.opened;
    await running.until((chunks) => chunks.some(({ type }) => type === 'tool-input-available'));
    expect(shape(running.chunks)).toEqual([
      'start',
      'text-start',
      'text-delta',
      'text-end',
      'tool-input-start',
      'tool-input-available',
    ]);
    adapter.open();
    await running.end();
    expect(clock.now()).toBe(1_000_000);
  });

  it('[R4] a client that stops reading holds the agent back, is let go after a minute, and may resume', async () => {
    const clock = fakeClock();
    let texts = 0;
    const total = 20_000;
    const made = harness(
      [
        async function* () {
          for (; texts < total; texts++) yield partial('x');
          yield text('x'.repeat(total));
        },
      ],
      [],
      { clock },
    );
    const response = await made.duologue.fetch(
      new Request('http://localhost/stream', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(say('go')),
      }),
    );
    await still(() => texts);
    expect(texts).toBeGreaterThan(1000);
    expect(texts).toBeLessThan(8192);
    clock.pass(25 * 3000);
    await turns(() => texts === total);
    await waitIdle(made);
    await expect(response.text()).rejects.toThrow();
    const { messages } = await (await made.get('/sessions/chat-1')).json();
    expect(messages[1].parts[0].text).toHaveLength(total);
  });

  it('[R3] one who reads along and takes nothing holds back neither the agent nor who asked', async () => {
    const adapter = latch();
    const total = 10_000;
    const words = Array.from({ length: total }, () => 'x');
    const made = harness([halting(adapter, 'x', ...words)]);
    const asking = await open(made, say('go'));
    await asking.until((chunks) => chunks.some(({ type }) => type === 'text-delta'));
    const along = await made.get('/stream/chat-1/stream');
    expect(along.status).toBe(200);
    adapter.open();
    await asking.end();
    const heard = asking.chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? chunk.delta : []));
    expect(heard.join('')).toHaveLength(total + 1);
    await along.body?.cancel();
  });
});

async function stop({ duologue }: Harness): Promise<unknown> {
  const response = await duologue.fetch(
    new Request('http://localhost/sessions/chat-1/stop', { method: 'POST' }),
  );
  return response.json();
}

/** The session once nothing runs in it. */
async function waitIdle({ get }: Harness): Promise<{ messages: Message[]; isRunning: boolean }> {
  for (let tries = 0; tries < 2000; tries++) {
    const session = await (await get('/sessions/chat-1')).json();
    if (!session.isRunning) return session;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error('The session never came to rest.');
}

/** Waits until a number stops growing. */
async function still(count: () => number): Promise<void> {
  let last = -1;
  let same = 0;
  await turns(() => {
    same = count() === last ? same + 1 : 0;
    last = count();
    return same > 20 && last > 0;
  });
}
