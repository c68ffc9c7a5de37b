import {
  FunctionTool,
  getUserChoiceTool,
  LlmAgent,
  type NodeContext,
  RequestInput,
  requestInputTool,
  Workflow,
} from '@google/adk';
import { expect } from 'vitest';
import { z } from 'zod';
import { call, ScriptedModel, text } from '../../../support/scripted-model.ts';
import { type Row, works } from '../matrix.ts';
import { textOf, the } from '../talk.ts';

/** A workflow with a node before and after the one that asks. `ran` has the nodes that ran. */
function asking(ran: unknown[]): Workflow {
  const first = (_: NodeContext, input: unknown) => {
    ran.push('first');
    return `first ${String(input)}`;
  };
  const ask = () => {
    ran.push('ask');
    return new RequestInput({ message: 'Your name?', responseSchema: z.object({ name: z.string() }) });
  };
  const last = (_: NodeContext, input: unknown) => {
    ran.push('last');
    return `Hello ${(input as { name: string }).name}.`;
  };
  return new Workflow({ name: 'flow', edges: [['START', first, ask, last]] });
}

/** An agent whose model calls a tool once, and then says something. */
function agentWith(tool: FunctionTool, args: Record<string, unknown>): LlmAgent {
  const model = new ScriptedModel([[call(tool.name, args, 'call-1')], [text('Thank you.')]]);
  return new LlmAgent({ name: 'assistant', model, tools: [tool] });
}

/** What agents and nodes ask the user. */
export const QUESTIONS: Row[] = [
  works('`RequestInput` in a node', async (place) => {
    const ran: unknown[] = [];
    const { say, output } = await place.talk({ agent: asking(ran) });
    const question = the(await say('go'), 'tool-input-available');
    expect(textOf(await output(question, { name: 'Ann' }))).toBe('Hello Ann.');
    expect(ran).toEqual(['first', 'ask', 'last']);
  }),
  works('`RequestInput` in a node, answered in another process after a kill', async (place) => {
    const ran: unknown[] = [];
    const before = await place.talk({ agent: asking(ran) });
    const question = the(await before.say('go'), 'tool-input-available');
    const after = await place.afterKill({ agent: asking(ran) });
    expect(textOf(await after.output(question, { name: 'Ann' }))).toBe('Hello Ann.');
    expect(ran).toEqual(['first', 'ask', 'last']);
  }),
  works('`requestInputTool`', async (place) => {
    const { say, output } = await place.talk({
      agent: agentWith(requestInputTool, { message: 'Your name?' }),
    });
    const question = the(await say('go'), 'tool-input-available');
    expect(textOf(await output(question, 'Ann'))).toBe('Thank you.');
  }),
  works('`getUserChoiceTool`', async (place) => {
    const { say, output } = await place.talk({
      agent: agentWith(getUserChoiceTool, { options: ['a', 'b'] }),
    });
    const question = the(await say('go'), 'tool-input-available');
    expect(textOf(await output(question, 'b'))).toBe('Thank you.');
  }),
  works('`requestConfirmation` with hint and payload, and the payload of the user', async (place) => {
    const book = new FunctionTool({
      name: 'book',
      description: 'Books.',
      execute: (_args, context) => {
        const { toolConfirmation } = context ?? {};
        if (!toolConfirmation) context?.requestConfirmation({ hint: 'How many?', payload: { seats: 0 } });
        return { booked: toolConfirmation?.payload ?? null };
      },
    });
    const { say, decide } = await place.talk({ agent: agentWith(book, {}) });
    const request = the(await say('go'), 'tool-approval-request');
    expect(request.approvalDescriptor).toEqual({ message: 'How many?', payload: { seats: 0 } });
    const answered = await decide(request, true, { payload: { seats: 2 } });
    expect(the(answered, 'tool-output-available').output).toEqual({ booked: { seats: 2 } });
  }),
];
