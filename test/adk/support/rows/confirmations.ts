import { randomUUID } from 'node:crypto';
import { FunctionTool, LlmAgent, PolicyOutcome, SecurityPlugin } from '@google/adk';
import { expect } from 'vitest';
import { call, ScriptedModel, text } from '../../../support/scripted-model.ts';
import { type Place, type Row, works } from '../matrix.ts';
import { type Talk, textOf, the } from '../talk.ts';

/** A plugin asks for each call; the user approves one and denies one, each in the process that `next` opens. */
async function ask(place: Place, next: (options: Parameters<Place['talk']>[0], talk: Talk) => Promise<Talk>) {
  const ran: string[] = [];
  const act = new FunctionTool({ name: 'act', description: 'A tool.', execute: () => `${ran.push('act')}` });
  const model = new ScriptedModel([
    [call('act', {}, 'act-1')],
    [text('Done.')],
    [call('act', {}, 'act-2')],
    [text('Left.')],
  ]);
  const evaluate = async () => ({ outcome: PolicyOutcome.CONFIRM, reason: 'It acts.' });
  const options = {
    agent: new LlmAgent({ name: 'assistant', model, tools: [act] }),
    plugins: [new SecurityPlugin({ policyEngine: { evaluate } })],
    newId: randomUUID,
  };
  let talk = await place.talk(options);
  const asked = await talk.say('one');
  expect(the(asked, 'tool-approval-request').reason).toBe(
    'Policy engine requires confirmation calling tool: act. Reason: It acts.',
  );
  expect(ran).toEqual([]);
  talk = await next(options, talk);
  const approved = await talk.decide(the(asked, 'tool-approval-request'), true);
  expect(the(approved, 'tool-output-available')).toMatchObject({ toolCallId: 'act-1' });
  expect(textOf(approved)).toBe('Done.');
  expect(ran).toEqual(['act']);
  const again = await talk.say('two');
  talk = await next(options, talk);
  const denied = await talk.decide(the(again, 'tool-approval-request'), false);
  expect(textOf(denied)).toBe('Left.');
  expect(ran).toEqual(['act']);
  expect(JSON.stringify([asked, approved, again, denied])).not.toContain('adk_request_confirmation');
}

/** Confirmations that the application requests in callbacks before tools. */
export const CONFIRMATIONS: Row[] = [
  works('`requestConfirmation` in a callback before a tool, as `SecurityPlugin` does: an approval', (place) =>
    ask(place, async (_options, talk) => talk),
  ),
  works('the same callback, answered in another process after a kill', (place) =>
    ask(place, (options) => place.afterKill(options)),
  ),
];
