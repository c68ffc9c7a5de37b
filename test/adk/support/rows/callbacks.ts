import {
  BaseLlmRequestProcessor,
  BasePlugin,
  type BaseTool,
  type Event,
  type InvocationContext,
  LlmAgent,
  type LlmRequest,
} from '@google/adk';
import type { Tool } from '@google/genai';
import { expect } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../../src/adk/index.ts';
import { call, ScriptedModel, text } from '../../../support/scripted-model.ts';
import { type Row, works } from '../matrix.ts';
import { textOf } from '../talk.ts';

const description = 'A tool.';
const TURN_BY_TURN = 'yes, driven turn by turn';

/** A plugin that writes down which of its hooks ADK called. */
class Hooks extends BasePlugin {
  readonly called: string[] = [];

  override async onUserMessageCallback(): Promise<undefined> {
    this.called.push('user message');
  }
  override async beforeModelCallback(): Promise<undefined> {
    this.called.push('before model');
  }
  override async afterModelCallback(): Promise<undefined> {
    this.called.push('after model');
  }
  override async afterRunCallback(): Promise<undefined> {
    this.called.push('after run');
  }
}

/** A plugin that allows one tool for each request: the first tool, then the second one, and so on. */
class Chooser extends BasePlugin {
  #requests = 0;

  override async beforeToolSelection({ tools }: { tools: Readonly<Record<string, BaseTool>> }) {
    const chosen = Object.entries(tools)[this.#requests];
    this.#requests += 1;
    return chosen && Object.fromEntries([chosen]);
  }
}

/** A processor that adds a count to each request. */
class Counter extends BaseLlmRequestProcessor {
  #requests = 0;

  // biome-ignore lint/correctness/useYield: a processor may emit events, and this one emits none.
  override async *runAsync(_: InvocationContext, request: LlmRequest): AsyncGenerator<Event, void, void> {
    this.#requests += 1;
    request.contents.push({ role: 'user', parts: [{ text: `request ${this.#requests}` }] });
  }
}

/** What the application adds to an agent. */
export const CALLBACKS: Row[] = [
  works(
    '`beforeModelCallback` and `afterModelCallback` of an agent',
    async (place) => {
      const agent = new LlmAgent({
        name: 'assistant',
        model: new ScriptedModel([[text('Secret.')]]),
        beforeModelCallback: ({ request }) =>
          request.contents.at(-1)?.parts?.[0]?.text === 'forbidden' ? text('I must not.') : undefined,
        afterModelCallback: ({ response }) =>
          response.content?.parts?.[0]?.text === 'Secret.' ? text('Hidden.') : undefined,
      });
      const { say } = await place.talk({ agent });
      expect(textOf(await say('forbidden'))).toBe('I must not.');
      expect(textOf(await say('go'))).toBe('Hidden.');
    },
    TURN_BY_TURN,
  ),

  works(
    'hooks of plugins: user message, before and after the model, after the run',
    async (place) => {
      const hooks = new Hooks('hooks');
      const model = new ScriptedModel([[text('One.')], [text('Two.')]]);
      const { say } = await place.talk({
        agent: new LlmAgent({ name: 'assistant', model }),
        plugins: [hooks],
      });
      for (const words of ['one', 'two']) await say(words);
      const turn = ['user message', 'before model', 'after model', 'after run'];
      await expect.poll(() => hooks.called).toEqual([...turn, ...turn]);
    },
    TURN_BY_TURN,
  ),

  works(
    '`beforeToolSelection` of a plugin chooses the tools of each request',
    async (place) => {
      const model = new ScriptedModel([[text('One.')], [text('Two.')]]);
      const tools = ['look', 'paint'].map((name) => defineTool({ name, description, execute: () => 'done' }));
      const agent = new LlmAgent({ name: 'assistant', model, tools });
      const { say } = await place.talk({ agent, plugins: [new Chooser('chooser')] });
      for (const words of ['one', 'two']) await say(words);
      const offered = model.requests.map(({ config }) =>
        ((config?.tools ?? []) as Tool[]).flatMap(({ functionDeclarations = [] }) =>
          functionDeclarations.map(({ name }) => name),
        ),
      );
      expect(offered).toEqual([['look'], ['paint']]);
    },
    TURN_BY_TURN,
  ),

  works(
    'a processor of your own in `requestProcessors` changes each request',
    async (place) => {
      const model = new ScriptedModel([[text('One.')], [text('Two.')]]);
      const agent = new LlmAgent({ name: 'assistant', model });
      agent.requestProcessors.push(new Counter());
      const { say } = await place.talk({ agent });
      for (const words of ['one', 'two']) await say(words);
      const last = model.requests.map(({ contents }) => contents.at(-1)?.parts?.[0]?.text);
      expect(last).toEqual(['request 1', 'request 2']);
    },
    TURN_BY_TURN,
  ),

  works(
    '`{state}` in the instruction is the state of the moment',
    async (place) => {
      const paint = defineTool({
        name: 'paint',
        description,
        execute: (_input, context) => {
          context.state.set('colour', 'green');
          return { painted: true };
        },
      });
      const model = new ScriptedModel([[call('paint', {}, 'call-1')], [text('Painted.')], [text('Green.')]]);
      const agent = new LlmAgent({
        name: 'assistant',
        model,
        instruction: 'The colour is {colour?}.',
        tools: [paint],
      });
      const { say } = await place.talk({ agent });
      await say('paint');
      await say('which colour?');
      const instructions = model.requests.map(({ config }) => String(config?.systemInstruction));
      expect(instructions[0]).toContain('The colour is .');
      expect(instructions.at(-1)).toContain('The colour is green.');
    },
    TURN_BY_TURN,
  ),

  works(
    'a function as the instruction is called for each request',
    async (place) => {
      const model = new ScriptedModel([[text('One.')], [text('Two.')]]);
      const turns: string[] = [];
      const agent = new LlmAgent({
        name: 'assistant',
        model,
        instruction: () => `This is request ${turns.push('asked')}.`,
      });
      const { say } = await place.talk({ agent });
      for (const words of ['one', 'two']) await say(words);
      const instructions = model.requests.map(({ config }) => String(config?.systemInstruction));
      expect(instructions).toEqual([
        expect.stringContaining('This is request 1.'),
        expect.stringContaining('This is request 2.'),
      ]);
    },
    TURN_BY_TURN,
  ),

  works(
    '`outputSchema` together with tools',
    async (place) => {
      const look = defineTool({ name: 'look', description, execute: () => ({ seen: 3 }) });
      const model = new ScriptedModel([
        [call('look', {}, 'call-1')],
        [call('set_model_response', { count: 3 }, 'call-2')],
      ]);
      const agent = new LlmAgent({
        name: 'assistant',
        model,
        tools: [look],
        outputSchema: z.object({ count: z.number() }),
      });
      const { say } = await place.talk({ agent });
      expect(JSON.parse(textOf(await say('count')))).toEqual({ count: 3 });
    },
    TURN_BY_TURN,
  ),
];
