import { randomUUID } from 'node:crypto';
import { LlmAgent, Workflow } from '@google/adk';
import { expect, it, onTestFinished } from 'vitest';
import { defineTool } from '../../src/adk/index.ts';
import { harness, say } from '../support/harness.ts';
import { call, ScriptedModel, text } from '../support/scripted-model.ts';
import { Place } from './support/matrix.ts';
import { sqliteDatabase } from './support/sqlite-database.ts';
import { type StoredSession, the } from './support/talk.ts';

const pay = defineTool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => 'paid' });

/** The options of a server with a workflow whose model plays these turns. */
function flow(...turns: ConstructorParameters<typeof ScriptedModel>[0] & object) {
  const banker = new LlmAgent({ name: 'banker', model: new ScriptedModel(turns), tools: [pay] });
  return { agent: new Workflow({ name: 'flow', edges: [['START', banker]] }), newId: randomUUID };
}

/** The text of the last message, and whether it is marked as cut off. */
function lastOf({ messages }: StoredSession) {
  const last = messages.at(-1);
  const texts = last?.parts.map((part) => (part.type === 'text' ? part.text : ''));
  return { text: texts?.join(''), isCutOff: last?.metadata?.cutOff === true };
}

it('[R7a] a text of the application is whole after a restart while an earlier turn of a workflow waits', async () => {
  const database = sqliteDatabase();
  const { post, duologue } = harness([], [], { store: await database.open(), ...flow([call('pay')]) });
  onTestFinished(() => duologue.close());
  await post(say('go'));
  await duologue.say({ user: 'live_user', id: 'chat-1' }, 'Please look at the request.');
  await database.kill();
  const next = await new Place('SSE', database).talk(flow());
  expect(lastOf(await next.stored())).toEqual({ text: 'Please look at the request.', isCutOff: false });
});

it('[R7a] an answer is whole after a restart while an earlier turn of a workflow, which continued meanwhile, waits again', async () => {
  const place = new Place('BIDI', sqliteDatabase());
  const talk = await place.talk(flow([call('pay')], [text('Hello.')], [call('pay')]));
  const asked = the(await talk.say('go'), 'tool-approval-request');
  await talk.say('hi');
  await talk.decide(asked, true);
  const { messages } = await talk.stored();
  expect(messages[1]?.parts.filter(({ type }) => type === 'tool-pay')).toHaveLength(2);
  expect(lastOf(await (await place.afterKill(flow())).stored())).toEqual({ text: 'Hello.', isCutOff: false });
});
