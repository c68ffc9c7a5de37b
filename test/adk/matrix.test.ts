import {
  App,
  BasePlugin,
  FunctionTool,
  InMemoryArtifactService,
  type InvocationContext,
  LlmAgent,
  type NodeContext,
  RequestInput,
  Workflow,
} from '@google/adk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import type { DuologueOptions } from '../../src/server/index.ts';
import { harness } from '../support/harness.ts';
import { call, ScriptedModel, text } from '../support/scripted-model.ts';
import { MODES, talk, textOf, the } from './support/talk.ts';

const description = 'A tool.';

describe.each(MODES)('over %s', (mode) => {
  it('a Workflow is the root', async () => {
    const seen: unknown[] = [];
    const model = new ScriptedModel([[text('Hello Ann.')], [text('Bye.')]]);
    const greeter = new LlmAgent({ name: 'greeter', model });
    const note = (_: NodeContext, input: unknown) => {
      seen.push(input);
      return `noted ${String(input)}`;
    };
    const agent = new Workflow({ name: 'flow', edges: [['START', note, greeter]] });
    const { say } = await talk(mode, { agent });
    expect(textOf(await say('Ann'))).toContain('Hello Ann.');
    expect(textOf(await say('Bob'))).toContain('Bye.');
    expect(seen).toEqual(['Ann', 'Bob']);
  });

  it('an approval inside a node of a Workflow pauses once and continues there', async () => {
    const ran: string[] = [];
    const first = (_: NodeContext, input: unknown) => {
      ran.push('first');
      return `first: ${String(input)}`;
    };
    const last = (_: NodeContext, input: unknown) => {
      ran.push('last');
      return `last: ${String(input)}`;
    };
    const pay = defineTool({
      name: 'pay',
      description,
      parameters: z.object({ amount: z.number() }),
      needsApproval: true,
      execute: ({ amount }) => {
        ran.push(`pay ${amount}`);
        return { paid: amount };
      },
    });
    const model = new ScriptedModel([[call('pay', { amount: 5 }, 'call-1')], [text('Paid.')]]);
    const banker = new LlmAgent({ name: 'banker', model, tools: [pay] });
    const agent = new Workflow({ name: 'flow', edges: [['START', first, banker, last]] });
    const { say, decide } = await talk(mode, { agent });
    const asked = await say('go');
    const answered = await decide(the(asked, 'tool-approval-request'), true);
    expect(ran).toEqual(['first', 'pay 5', 'last']);
    expect(textOf(answered)).toContain('Paid.');
    expect(textOf(answered)).toContain('last: Paid.');
    expect(model.requests).toHaveLength(2);
    expect(model.lastContents.map(({ parts }) => parts?.map((part) => Object.keys(part)[0]))).toEqual([
      ['text'],
      ['functionCall'],
      ['functionResponse'],
    ]);
  });

  it('an App is the root: its name, plugins and agent are used', async () => {
    const seen: string[] = [];
    class Watcher extends BasePlugin {
      override async beforeRunCallback({ invocationContext }: { invocationContext: InvocationContext }) {
        seen.push(invocationContext.session.appName);
        return undefined;
      }
    }
    const rootAgent = new LlmAgent({ name: 'assistant', model: new ScriptedModel([[text('Hi.')]]) });
    const app = new App({ name: 'shop', rootAgent, plugins: [new Watcher('watcher')] });
    const { say } = await talk(mode, { agent: app });
    expect(textOf(await say('Hello'))).toBe('Hi.');
    expect(seen).toEqual(['shop']);
  });

  it('a browser tool inside a node of a Workflow pauses once, and a node without output runs once', async () => {
    const ran: string[] = [];
    const first = () => void ran.push('first');
    const place = defineTool({ name: 'place', description, runsOn: 'client' });
    const model = new ScriptedModel([[call('place', {}, 'call-1')], [text('You are in Oslo.')]]);
    const guide = new LlmAgent({ name: 'guide', model, tools: [place] });
    const agent = new Workflow({ name: 'flow', edges: [['START', first, guide]] });
    const { say, output } = await talk(mode, { agent });
    const asked = await say('where');
    const answered = await output(the(asked, 'tool-input-available'), { city: 'Oslo' });
    expect(textOf(answered)).toBe('You are in Oslo.');
    expect(ran).toEqual(['first']);
    expect(model.requests).toHaveLength(2);
  });

  it('nodes that pause one after the other each continue once', async () => {
    const ran: string[] = [];
    const act = new FunctionTool({
      name: 'act',
      description,
      requireConfirmation: true,
      execute: (_args, context) => {
        ran.push(context?.agentName ?? '');
        return { done: true };
      },
    });
    const node = (name: string) => {
      const model = new ScriptedModel([[call('act', {}, `call-${name}`)], [text(`${name} is done.`)]]);
      return { model, agent: new LlmAgent({ name, model, tools: [act] }) };
    };
    const [one, two] = [node('one'), node('two')];
    const agent = new Workflow({ name: 'flow', edges: [['START', one.agent, two.agent]] });
    const { say, decide } = await talk(mode, { agent });
    const first = await say('go');
    const second = await decide(the(first, 'tool-approval-request'), true);
    expect(textOf(second)).toContain('one is done.');
    const third = await decide(the(second, 'tool-approval-request'), true);
    expect(textOf(third)).toBe('two is done.');
    expect(ran).toEqual(['one', 'two']);
    expect([one.model.requests.length, two.model.requests.length]).toEqual([2, 2]);
  });

  it('a denied call inside a node continues there, and its tool does not run', async () => {
    const ran: string[] = [];
    const pay = defineTool({ name: 'pay', description, needsApproval: true, execute: () => ran.push('pay') });
    const model = new ScriptedModel([[call('pay', {}, 'call-1')], [text('Not paid.')]]);
    const banker = new LlmAgent({ name: 'banker', model, tools: [pay] });
    const { say, decide } = await talk(mode, {
      agent: new Workflow({ name: 'flow', edges: [['START', banker]] }),
    });
    const answered = await decide(the(await say('go'), 'tool-approval-request'), false);
    expect(textOf(answered)).toBe('Not paid.');
    expect(ran).toEqual([]);
  });

  it('a RequestInput of a node ends the turn with an error, and the log says why', async () => {
    const errors: string[] = [];
    const logger = {
      info: () => undefined,
      warn: () => undefined,
      error: (message: string, fields?: object) => void errors.push(`${message} ${JSON.stringify(fields)}`),
    };
    const ask = () => new RequestInput({ message: 'Your name?' });
    const agent = new Workflow({ name: 'flow', edges: [['START', ask]] });
    const { say } = await talk(mode, { agent, logger });
    expect((await say('go')).map(({ type }) => type)).toContain('error');
    expect(errors.join()).toContain('asks for input with RequestInput, which is not supported');
  });

  it('tools reach the artifact service, in the loop of ADK and after an approval', async () => {
    const keep = (name: string, needsApproval: boolean) =>
      defineTool({
        name,
        description,
        needsApproval,
        execute: async (_input, context) => {
          await context.saveArtifact('note.txt', { text: name });
          return { files: await context.listArtifacts() };
        },
      });
    const model = new ScriptedModel([
      [call('keep', {}, 'call-1')],
      [call('keep_asked', {}, 'call-2')],
      [text('Kept.')],
    ]);
    const tools = [keep('keep', false), keep('keep_asked', true)];
    const artifactService = new InMemoryArtifactService();
    const agent = new LlmAgent({ name: 'assistant', model, tools });
    const { say, decide } = await talk(mode, { agent, appName: 'shop', artifactService });
    const asked = await say('go');
    expect(the(asked, 'tool-output-available').output).toEqual({ files: ['note.txt'] });
    const answered = await decide(the(asked, 'tool-approval-request'), true);
    expect(the(answered, 'tool-output-available').output).toEqual({ files: ['note.txt'] });
  });
});

describe('what cannot work is refused at start', () => {
  const pay = defineTool({ name: 'pay', description, needsApproval: true, execute: () => 'paid' });
  const flow = () =>
    new Workflow({
      name: 'flow',
      edges: [['START', new LlmAgent({ name: 'a', model: new ScriptedModel() })]],
    });

  it.each<[string, Partial<DuologueOptions>, string]>([
    [
      'a tool that asks as a node',
      { agent: new Workflow({ name: 'flow', edges: [['START', pay]] }) },
      'The tool "pay" is a node of the workflow "flow", where it cannot wait for a user or a browser.',
    ],
    [
      'a Workflow that is to run live',
      { agent: flow(), driver: 'live' },
      'ADK cannot run the workflow "flow" live.',
    ],
    [
      'an App that is not resumable',
      { agent: new App({ name: 'shop', rootAgent: flow(), resumabilityConfig: { isResumable: false } }) },
      'The App "shop" has isResumable: false',
    ],
    [
      'a resumabilityConfig without resumption',
      { resumabilityConfig: { isResumable: false } },
      'the option "resumabilityConfig" must be { isResumable: true }',
    ],
    [
      'a service that is none',
      { artifactService: {} as never },
      'the option "artifactService" must be a service of ADK',
    ],
  ])('%s', (_, options, words) => {
    expect(() => harness([], [], options)).toThrow(words);
  });
});
