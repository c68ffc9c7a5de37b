import {
  BaseTool,
  ExampleTool,
  InMemoryMemoryService,
  LlmAgent,
  LOAD_ARTIFACTS,
  PRELOAD_MEMORY,
} from '@google/adk';
import { expect } from 'vitest';
import { defineTool } from '../../../../src/adk/index.ts';
import { call, ScriptedModel, text } from '../../../support/scripted-model.ts';
import { type Row, works } from '../matrix.ts';

const description = 'A tool.';
const TURN_BY_TURN = 'yes, driven turn by turn';

/** A tool that adds a count to each request. */
class Counter extends BaseTool {
  #requests = 0;

  constructor() {
    super({ name: 'counter', description });
  }

  override async processLlmRequest({ llmRequest }: Parameters<BaseTool['processLlmRequest']>[0]) {
    this.#requests += 1;
    llmRequest.contents.push({ role: 'user', parts: [{ text: `request ${this.#requests}` }] });
  }

  override async runAsync() {}
}

/** The system instruction of each request. */
function instructionsOf({ requests }: ScriptedModel): string[] {
  return requests.map(({ config }) => String(config?.systemInstruction));
}

/** Tools of ADK that change each request to the model. */
export const REQUEST_TOOLS: Row[] = [
  works(
    '`LOAD_ARTIFACTS`: the model reads a file that a tool saved before',
    async (place) => {
      const save = defineTool({
        name: 'save',
        description,
        execute: async (_input, context) => {
          await context.saveArtifact('note.txt', {
            inlineData: { data: btoa('milk and tea'), mimeType: 'text/plain' },
          });
          return 'saved';
        },
      });
      const model = new ScriptedModel([
        [call('save', {}, 'call-1')],
        [text('Saved.')],
        [call('load_artifacts', { artifact_names: ['note.txt'] }, 'call-2')],
        [text('Milk and tea.')],
      ]);
      const agent = new LlmAgent({ name: 'assistant', model, tools: [save, LOAD_ARTIFACTS] });
      const { say } = await place.talk({ agent });
      await say('save');
      await say('read');
      expect(instructionsOf(model)[0]).not.toContain('note.txt');
      expect(instructionsOf(model)[2]).toContain('note.txt');
      expect(JSON.stringify(model.lastContents)).toContain('milk and tea');
    },
    TURN_BY_TURN,
  ),

  works(
    '`PRELOAD_MEMORY` searches the memory for each message',
    async (place) => {
      const memoryService = new InMemoryMemoryService();
      const queries: string[] = [];
      memoryService.searchMemory = async ({ query }) => {
        queries.push(query);
        return { memories: [{ content: { role: 'user', parts: [{ text: `About ${query}.` }] } }] };
      };
      const model = new ScriptedModel([[text('One.')], [text('Two.')]]);
      const agent = new LlmAgent({ name: 'assistant', model, tools: [PRELOAD_MEMORY] });
      const { say } = await place.talk({ agent, memoryService });
      for (const words of ['tea', 'milk']) await say(words);
      expect(queries).toEqual(['tea', 'milk']);
      expect(instructionsOf(model)).toEqual([
        expect.stringContaining('About tea.'),
        expect.stringContaining('About milk.'),
      ]);
    },
    TURN_BY_TURN,
  ),

  works(
    '`ExampleTool` gives the model examples for each message',
    async (place) => {
      const examples = [
        {
          input: { role: 'user', parts: [{ text: 'ping' }] },
          output: [{ role: 'model', parts: [{ text: 'pong' }] }],
        },
      ];
      const model = new ScriptedModel([[text('One.')], [text('Two.')]]);
      const agent = new LlmAgent({ name: 'assistant', model, tools: [new ExampleTool(examples)] });
      const { say } = await place.talk({ agent });
      for (const words of ['one', 'two']) await say(words);
      const instructions = instructionsOf(model);
      expect(instructions).toHaveLength(2);
      for (const instruction of instructions) expect(instruction).toContain('pong');
    },
    TURN_BY_TURN,
  ),

  works(
    'a tool of your own with `processLlmRequest` changes each request',
    async (place) => {
      const model = new ScriptedModel([[text('One.')], [text('Two.')]]);
      const agent = new LlmAgent({ name: 'assistant', model, tools: [new Counter()] });
      const { say } = await place.talk({ agent });
      for (const words of ['one', 'two']) await say(words);
      const counts = model.requests.map(({ contents }) => contents.at(-1)?.parts?.[0]?.text);
      expect(counts).toEqual(['request 1', 'request 2']);
    },
    TURN_BY_TURN,
  ),
];
