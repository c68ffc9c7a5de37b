import type { LlmRequest } from '@google/adk';
import { expect, it } from 'vitest';
import { defineTool } from '../../src/adk/index.ts';
import { addClaim, takeClaim } from '../../src/adk/request-hooks.ts';
import { guardConnection } from '../../src/models/live/guard.ts';
import { callModel } from '../../src/models/model-call.ts';
import { createMemoryStore } from '../../src/server/index.ts';
import { answers, approve, only } from '../server/support/answers.ts';
import { latch } from '../server/support/listen.ts';
import { harness, say } from '../support/harness.ts';
import { call, calls, ScriptedLiveConnection, ScriptedModel, text } from '../support/scripted-model.ts';

const act = (ran: string[]) =>
  defineTool({
    name: 'act',
    description: 'Acts.',
    needsApproval: true,
    execute: () => {
      ran.push('act');
      return 'done';
    },
  });

it('a model may repeat the id of a call in an answer that replaces the answer with it', async () => {
  const ran: string[] = [];
  const turn = (words: string) => [[call('act', {}, 'call_0')], [text(words)]];
  const made = harness([...turn('One.'), ...turn('Two.')], [act(ran)]);
  const first = await made.post(say('go'));
  await answers(made, first, approve());
  const again = await made.post({ ...say('go'), trigger: 'regenerate-message' });
  const [request] = only(again.chunks, 'tool-approval-request');
  expect(request?.toolCallId).not.toBe('call_0');
  const { chunks } = await answers(made, again, approve());
  expect(only(chunks, 'text-delta').map(({ delta }) => delta)).toEqual(['Two.']);
  expect(ran).toEqual(['act', 'act']);
});

it('a model may repeat the id of a call that is older than the loaded history', async () => {
  const ran: string[] = [];
  const talk = Array.from({ length: 12 }, (_, n) => [text(`Text ${n}.`)]);
  const turn = [[call('act', {}, 'call_0')], [text('Done.')]];
  const store = createMemoryStore();
  store.close = async () => undefined;
  const options = { store, history: { maxEvents: 4, maxBytes: 1_000_000 } };
  const before = harness([...turn, ...talk], [act(ran)], options);
  await answers(before, await before.post(say('go')), approve());
  for (const [n] of talk.entries()) await before.post(say(`more ${n}`, 'chat-1'));
  await before.duologue.close();
  const after = harness(turn, [act(ran)], { ...options, newId: () => crypto.randomUUID() });
  const asked = await after.post(say('go again'));
  expect(only(asked.chunks, 'tool-approval-request')).toHaveLength(1);
  await answers(after, asked, approve());
  expect(ran).toEqual(['act', 'act']);
});

it('a plain call that is older than the loaded history keeps its id to itself', async () => {
  const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
  const talk = Array.from({ length: 12 }, (_, n) => [text(`Text ${n}.`)]);
  const store = createMemoryStore();
  store.close = async () => undefined;
  const options = {
    store,
    history: { maxEvents: 4, maxBytes: 1_000_000 },
    newId: () => crypto.randomUUID(),
  };
  const before = harness([[call('look', {}, 'call_0')], [text('Seen.')], ...talk], [look], options);
  const first = await before.post(say('go'));
  expect(only(first.chunks, 'tool-input-available').map(({ toolCallId }) => toolCallId)).toEqual(['call_0']);
  for (const [n] of talk.entries()) await before.post(say(`more ${n}`, 'chat-1'));
  await before.duologue.close();
  // A counter may be older than the loaded history. A long id is random, as those of OpenAI are.
  const random = 'call_W7ZQ8s2hKxT3mVbYc5NdEf4G';
  const turns = ['call_0', random].flatMap((id) => [[call('look', {}, id)], [text('Seen.')]]);
  const after = harness(turns, [look], options);
  const ids: (string | undefined)[] = [];
  for (const words of ['again', 'once more']) {
    const { chunks } = await after.post(say(words));
    ids.push(...only(chunks, 'tool-input-available').map(({ toolCallId }) => toolCallId));
  }
  expect([ids[0] === 'call_0', ids[1]]).toEqual([false, random]);
});

const requestWith = (taken: string[]): LlmRequest => {
  const request = { contents: [], toolsDict: {}, liveConnectConfig: {} } as unknown as LlmRequest;
  addClaim(request, async (id) => !taken.includes(id));
  return request;
};
const idsIn = (parts: readonly { functionCall?: { id?: string | undefined } }[] = []) =>
  parts.map(({ functionCall }) => functionCall?.id);

it('a model call releases the ids that the conversation has used, and no others', async () => {
  const model = new ScriptedModel([
    [calls({ name: 'act', id: 'call_0' }, { name: 'act', id: 'call_1' }, { name: 'act' })],
  ]);
  const request = requestWith(['call_0']);
  const responses = [];
  for await (const response of callModel(model, request)) responses.push(response);
  expect(idsIn(responses.at(-1)?.content?.parts)).toEqual([undefined, 'call_1', undefined]);
  // A model of the application may pass the request on to another one.
  expect(takeClaim(request)).toBeUndefined();
});

it('a model call that is aborted while the ids of its calls are looked up ends at once', async () => {
  const request = requestWith([]);
  const { open: looksUp, opened: lookedUp } = latch();
  addClaim(request, () => {
    looksUp();
    return new Promise<boolean>(() => undefined);
  });
  const stop = new AbortController();
  const run = callModel(new ScriptedModel([[call('act', {}, 'call_0')]]), request, { signal: stop.signal });
  const response = run.next();
  await lookedUp;
  stop.abort();
  expect(await response).toEqual({ done: true, value: undefined });
  expect(await run.next()).toEqual({ done: true, value: undefined });
});

it('a live model gets the response to a call under its own id, also when the conversation has used that id', async () => {
  const inner = new ScriptedLiveConnection();
  const connection = guardConnection(inner, requestWith(['call_0']));
  const received = connection.receive();
  inner.push(calls({ name: 'act', id: 'call_0' }, { name: 'act', id: 'call_1' }));
  const { value } = await received.next();
  const [first, second] = idsIn(value?.content?.parts);
  expect([first === 'call_0', second]).toEqual([false, 'call_1']);
  const functionResponse = { id: first ?? '', name: 'act', response: {} };
  await connection.sendContent({ role: 'user', parts: [{ functionResponse }] });
  const [sent] = inner.sent;
  expect(sent?.kind === 'content' && sent.value.parts?.[0]?.functionResponse?.id).toBe('call_0');
});
