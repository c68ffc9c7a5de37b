import { LlmAgent, LongRunningFunctionTool } from '@google/adk';
import { expect } from 'vitest';
import type { DuologueOptions } from '../../../../src/server/index.ts';
import { call, ScriptedModel, type ScriptedTurn, text } from '../../../support/scripted-model.ts';
import { type Place, type Row, works } from '../matrix.ts';
import type { Talk } from '../talk.ts';

/** A server whose tool is started and returns nothing yet. `started` resolves when the tool runs. */
export function printing(ran: string[], turns: readonly ScriptedTurn[]) {
  let start: () => void = () => undefined;
  const started = new Promise<void>((resolve) => {
    start = resolve;
  });
  const print = new LongRunningFunctionTool({
    name: 'print',
    description: 'Prints.',
    execute: () => {
      ran.push('print');
      start();
      return undefined;
    },
  });
  const model = new ScriptedModel(turns);
  const options: Partial<DuologueOptions> = {
    agent: new LlmAgent({ name: 'assistant', model, tools: [print] }),
  };
  return { options, model, started };
}

/** The tool is started; the application completes its call in the process that `next` opens. */
async function completedLater(
  place: Place,
  next: (talk: Talk, after: Partial<DuologueOptions>) => Promise<Talk>,
) {
  const ran: string[] = [];
  const before = printing(ran, [[call('print', {}, 'call-1')], [text('Printed.')]]);
  const talk = await place.talk(before.options);
  const answer = talk.say('Print');
  await before.started;
  // Over BIDI the server sends nothing when the tool is started.
  if (place.mode === 'SSE') await answer;
  else answer.catch(() => undefined);
  const after = printing(ran, [[text('Printed.')]]);
  const last = await next(talk, after.options);
  expect(await last.complete('call-1', { pages: 2 })).toBe('Printed.');
  const { model } = last === talk ? before : after;
  expect(JSON.stringify(model.lastContents)).toContain('"pages":2');
  expect(ran).toEqual(['print']);
}

/** Tools whose output comes from outside, at an unknown time. */
export const LONG_RUNNING: Row[] = [
  works('`LongRunningFunctionTool` that returns nothing yet, completed by the application', (place) =>
    completedLater(place, async (talk) => talk),
  ),
  works('`LongRunningFunctionTool`, completed in another process after a kill', (place) =>
    completedLater(place, (_talk, options) => place.afterKill(options)),
  ),
];
