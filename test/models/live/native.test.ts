import { expect, test } from 'vitest';
import { adkSafe, pairOf } from '../../../src/models/adk-safe.ts';
import { call, calls, ScriptedLiveConnection, ScriptedModel, text } from '../../support/scripted-model.ts';
import { DeferredTool } from '../support/deferred-tool.ts';
import { lines, TestRun } from '../support/runs.ts';

function native(connection: ScriptedLiveConnection): ScriptedModel {
  return new ScriptedModel([], { connections: [connection] });
}

test('a model with a live connection of its own is used through it', async () => {
  const connection = new ScriptedLiveConnection((sent, self) => {
    if (sent.kind === 'content') self.push(text('Hello'), { turnComplete: true });
  });
  const live = await new TestRun(native(connection)).live();
  live.say('hi');
  live.queue.sendRealtime({ mimeType: 'audio/pcm', data: 'AAAA' });
  live.queue.sendActivityStart();
  live.queue.sendActivityEnd();
  await live.until((run) => run.turns === 1);
  await live.close();
  expect(live.seen).toEqual([text('Hello'), { turnComplete: true }]);
  expect(connection.sent).toEqual([
    { kind: 'content', value: { role: 'user', parts: [{ text: 'hi' }] } },
    { kind: 'realtime', value: { mimeType: 'audio/pcm', data: 'AAAA' } },
    { kind: 'activityStart' },
    { kind: 'activityEnd' },
  ]);
  expect(connection.closes).toBeGreaterThan(0);
});

test('its calls get ids of their own, and it hears only of its own ids', async () => {
  const connection = new ScriptedLiveConnection((sent, self) => {
    if (sent.kind !== 'content') return;
    if (sent.value.parts?.[0]?.text)
      self.push(calls({ name: 'a', id: 'f' }, { name: 'a', id: 'f' }, { name: 'a' }));
  });
  const live = await new TestRun(native(connection), { tools: [new DeferredTool('a')] }).live();
  live.say('go');
  await live.until((run) => run.calls.length === 3);
  const ids = live.calls.map(({ id }) => id);
  expect(ids.map((id) => id.replace(/\d+$/, 'N'))).toEqual(['f', 'function-call-N', 'function-call-N']);
  for (const id of ids) live.answer(id, 'a', { ok: true });
  await live.close();
  const answered = connection.sent
    .slice(1)
    .flatMap((sent) => (sent.kind === 'content' ? sent.value.parts : []));
  expect(answered).toEqual([
    { functionResponse: { id: 'f', name: 'a', response: { ok: true } } },
    { functionResponse: { name: 'a', response: { ok: true }, id: 'f' } },
    { functionResponse: { name: 'a', response: { ok: true } } },
  ]);
});

test('no call is made from a partial response, and one of a tool that does not exist is answered', async () => {
  const connection = new ScriptedLiveConnection((sent, self) => {
    if (sent.kind !== 'content') return;
    if (sent.value.parts?.[0]?.text) self.push({ ...call('nope'), partial: true }, call('nope', {}, 'f'));
    else self.push({ turnComplete: true });
  });
  const live = await new TestRun(native(connection)).live();
  live.say('go');
  await live.until((run) => run.turns === 1);
  await live.close();
  expect(live.error).toBeUndefined();
  expect(live.calls).toEqual([{ id: 'f', name: 'nope' }]);
  expect(JSON.stringify(connection.sent[1])).toContain('There is no tool named');
});

test('of a pair, turns go to the one and live runs to the other, each under its own name', async () => {
  const connection = new ScriptedLiveConnection((sent, self) => {
    if (sent.kind === 'content') self.push(text('Live'), { turnComplete: true });
  });
  const turn = new ScriptedModel([[text('Turn')]], { model: 'turner' });
  const spoken = new ScriptedModel([], { model: 'speaker', connections: [connection] });
  const run = new TestRun(pairOf(turn, spoken));
  expect(await run.say('hi')).toMatchObject([text('Turn')]);
  const live = await run.live();
  live.say('there');
  await live.until((one) => one.turns === 1);
  await live.close();
  expect(live.seen).toEqual([text('Live'), { turnComplete: true }]);
  expect(turn.requests.map((seen) => seen.model)).toEqual(['turner']);
  expect(spoken.connects.map((seen) => seen.model)).toEqual(['speaker']);
});

test('of a pair, the one for live runs may have no live connection', async () => {
  const turn = new ScriptedModel([], { model: 'turner' });
  const slow = new ScriptedModel([[text('Hello')]], { model: 'other' });
  const live = await new TestRun(pairOf(turn, slow)).live();
  live.say('hi');
  await live.until((one) => one.turns === 1);
  await live.close();
  expect(slow.requests.map((seen) => [seen.model, ...lines(seen.contents)])).toEqual([['other', 'user: hi']]);
  expect(turn.requests).toEqual([]);
});

test('a pair of one model is that model, and wrapping keeps the name of the first', () => {
  const turn = new ScriptedModel([], { model: 'turner' });
  expect(pairOf(turn, turn)).toBe(turn);
  expect(adkSafe(pairOf(turn, new ScriptedModel())).model).toBe('turner');
});
