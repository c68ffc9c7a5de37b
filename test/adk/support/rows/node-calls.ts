import { LlmAgent, type NodeContext, Workflow } from '@google/adk';
import { expect } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../../src/adk/index.ts';
import type { DuologueOptions } from '../../../../src/server/index.ts';
import { OAuthProvider } from '../../../support/oauth-provider.ts';
import { call, ScriptedModel, text } from '../../../support/scripted-model.ts';
import { type Place, type Row, works } from '../matrix.ts';
import { type Talk, textOf, the } from '../talk.ts';
import { asking } from './credentials.ts';
import { printing } from './long-running.ts';

/** Puts the agent of a server into a workflow, between two nodes. `ran` gets the nodes that ran. */
function inNode(options: Partial<DuologueOptions>, ran: string[]): Partial<DuologueOptions> {
  const first = (_: NodeContext, input: unknown) => {
    ran.push('first');
    return `first: ${String(input)}`;
  };
  const last = (_: NodeContext, input: unknown) => {
    ran.push('last');
    return `last: ${String(input)}`;
  };
  const agent = options.agent as LlmAgent;
  return { ...options, agent: new Workflow({ name: 'flow', edges: [['START', first, agent, last]] }) };
}

/** A tool in a node asks the user to sign in; the sign-in is completed in the process that `next` opens. */
async function signsIn(
  place: Place,
  next: (talk: Talk, after: Partial<DuologueOptions>) => Promise<Talk>,
): Promise<void> {
  const provider = await OAuthProvider.start();
  const [used, ran]: [unknown[], string[]] = [[], []];
  const before = await place.talk(inNode(asking(provider.config(), used), ran));
  const { approvalDescriptor } = the(await before.say('go'), 'tool-approval-request');
  expect(ran).toEqual(['first']);
  const back = await provider.consent((approvalDescriptor as { signInUrl: string }).signInUrl);
  const after = inNode(asking(provider.config(), used, { isAfter: true }), ran);
  expect(await (await next(before, after)).signIn(back)).toContain('last: Three events.');
  expect(used).toEqual(provider.tokens);
  expect(ran).toEqual(['first', 'last']);
}

/** A tool in a node is started; the application completes its call in the process that `next` opens. */
async function completes(
  place: Place,
  next: (talk: Talk, after: Partial<DuologueOptions>) => Promise<Talk>,
): Promise<void> {
  const ran: string[] = [];
  const before = printing(ran, [[call('print', {}, 'call-1')], [text('Printed.')]]);
  const talk = await place.talk(inNode(before.options, ran));
  const answer = talk.say('Print');
  await before.started;
  // Over BIDI the server sends nothing when the tool is started.
  if (place.mode === 'SSE') await answer;
  else answer.catch(() => undefined);
  const after = printing(ran, [[text('Printed.')]]);
  const last = await next(talk, inNode(after.options, ran));
  expect(await last.complete('call-1', { pages: 2 })).toContain('last: Printed.');
  const { model } = last === talk ? before : after;
  expect(JSON.stringify(model.lastContents)).toContain('"pages":2');
  expect(ran).toEqual(['first', 'print', 'last']);
}

/** What other calls do inside a node of a workflow: sign-ins, outputs from outside, progress and data. */
export const NODE_CALLS: Row[] = [
  works('`requestCredential` inside a node of a `Workflow`', (place) => signsIn(place, async (talk) => talk)),
  works('a sign-in inside a node of a `Workflow`, completed in another process after a kill', (place) =>
    signsIn(place, (_talk, options) => place.afterKill(options)),
  ),
  works('`LongRunningFunctionTool` inside a node of a `Workflow`, completed by the application', (place) =>
    completes(place, async (talk) => talk),
  ),
  works(
    '`LongRunningFunctionTool` inside a node of a `Workflow`, completed in another process after a kill',
    (place) => completes(place, (_talk, options) => place.afterKill(options)),
  ),
  works('`context.progress` and `context.data` inside a node of a `Workflow`', async (place) => {
    const ran: string[] = [];
    const count = defineTool({
      name: 'count',
      description: 'Counts.',
      parameters: z.object({}),
      execute: (_input, context) => {
        context.progress({ counted: 1 });
        context.data('note', 'half', { id: 'note-1' });
        return { counted: 2 };
      },
    });
    const model = new ScriptedModel([[call('count', {}, 'call-1')], [text('Counted.')]]);
    const agent = new LlmAgent({ name: 'counter', model, tools: [count] });
    const talk = await place.talk(inNode({ agent, data: { note: z.string() } }, ran));
    const chunks = await talk.say('go');
    const outputs = chunks.filter((chunk) => chunk.type === 'tool-output-available');
    expect(outputs.map(({ output, preliminary }) => [output, preliminary === true])).toEqual([
      [{ counted: 1 }, true],
      [{ counted: 2 }, false],
    ]);
    const shown: unknown[] = chunks.filter(({ type }) => String(type) === 'data-note');
    expect(shown).toEqual([{ type: 'data-note', id: 'note-1', data: 'half' }]);
    expect(textOf(chunks)).toContain('last: Counted.');
    expect(ran).toEqual(['first', 'last']);
    const { messages } = await talk.stored();
    expect(messages.at(-1)?.parts).toContainEqual({ type: 'data-note', id: 'note-1', data: 'half' });
  }),
];
