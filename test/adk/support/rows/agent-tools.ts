import { randomUUID } from 'node:crypto';
import { AgentTool, LlmAgent } from '@google/adk';
import { expect } from 'vitest';
import { defineTool } from '../../../../src/adk/index.ts';
import type { DuologueOptions } from '../../../../src/server/index.ts';
import { call, ScriptedModel, text } from '../../../support/scripted-model.ts';
import { type Place, type Row, works } from '../matrix.ts';
import { type Talk, textOf } from '../talk.ts';
import { WAITING_KINDS } from '../waiting-kinds.ts';

const description = 'A tool.';

/** An agent that is used as a tool calls a tool that ran before, and one that waits, which is answered in the process that `next` opens. */
async function ask(
  place: Place,
  next: (place: Place, options: Partial<DuologueOptions>, talk: Talk) => Promise<Talk>,
) {
  for (const [index, { tool, answer }] of WAITING_KINDS.entries()) {
    const ran: string[] = [];
    const run = (what: string) => () => {
      ran.push(what);
      return 'done';
    };
    const id = (what: string) => `${what}-${index}`;
    const read = defineTool({ name: 'read', description, execute: run('read') });
    const inner = new ScriptedModel([
      [call('read', {}, id('read'))],
      [call('act', {}, id('act'))],
      [text('I did it.')],
    ]);
    const banker = new LlmAgent({
      name: 'banker',
      description,
      model: inner,
      tools: [read, tool(run('act'))],
    });
    const model = new ScriptedModel([[call('banker', { request: 'go' }, id('banker'))], [text('Well.')]]);
    const options = {
      agent: new LlmAgent({ name: 'assistant', model, tools: [new AgentTool({ agent: banker })] }),
      newId: randomUUID,
    };
    const first = index === 0 ? await place.talk(options) : await place.afterKill(options);
    const asked = await first.say(`go ${index}`);
    const end = await answer(await next(place, options, first), asked);
    expect(textOf(end)).toBe('Well.');
    expect(ran).toEqual(index === 2 ? ['read'] : ['read', 'act']);
  }
}

/** Calls inside agents that are used as tools. */
export const AGENT_TOOLS: Row[] = [
  works('approval, browser tool or confirmation inside an `AgentTool`', (place) =>
    ask(place, async (_place, _options, talk) => talk),
  ),
  works('the same, answered in another process after a kill', (place) =>
    ask(place, (_place, options) => place.afterKill(options)),
  ),
];
