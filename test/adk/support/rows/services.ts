import {
  InMemoryArtifactService,
  InMemoryMemoryService,
  LlmAgent,
  TruncatingContextCompactor,
} from '@google/adk';
import { expect } from 'vitest';
import { defineTool } from '../../../../src/adk/index.ts';
import { call, ScriptedModel, text } from '../../../support/scripted-model.ts';
import { type Row, works } from '../matrix.ts';
import { the } from '../talk.ts';

const description = 'A tool.';

/** The services of ADK, which tools reach through their context. */
export const SERVICES: Row[] = [
  works('`artifactService`', async (place) => {
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
    const { say, decide } = await place.talk({ agent, appName: 'shop', artifactService });
    const asked = await say('go');
    expect(the(asked, 'tool-output-available').output).toEqual({ files: ['note.txt'] });
    const answered = await decide(the(asked, 'tool-approval-request'), true);
    expect(the(answered, 'tool-output-available').output).toEqual({ files: ['note.txt'] });
  }),

  works('`memoryService`', async (place) => {
    const memoryService = new InMemoryMemoryService();
    const asked: string[] = [];
    const search = memoryService.searchMemory.bind(memoryService);
    memoryService.searchMemory = (request) => {
      asked.push(`${request.appName} ${request.query}`);
      return search(request);
    };
    const recall = (name: string, needsApproval: boolean) =>
      defineTool({
        name,
        description,
        needsApproval,
        execute: async (_input, context) => ({ found: (await context.searchMemory(name)).memories.length }),
      });
    const model = new ScriptedModel([
      [call('recall', {}, 'call-1')],
      [call('recall_asked', {}, 'call-2')],
      [text('Nothing.')],
    ]);
    const tools = [recall('recall', false), recall('recall_asked', true)];
    const agent = new LlmAgent({ name: 'assistant', model, tools });
    const { say, decide } = await place.talk({ agent, appName: 'shop', memoryService });
    await decide(the(await say('go'), 'tool-approval-request'), true);
    expect(asked).toEqual(['shop recall', 'shop recall_asked']);
  }),

  works(
    '`contextCompactors` of an agent',
    async (place) => {
      const model = new ScriptedModel([[text('One.')], [text('Two.')], [text('Three.')]]);
      const agent = new LlmAgent({
        name: 'assistant',
        model,
        contextCompactors: [new TruncatingContextCompactor({ threshold: 3 })],
      });
      const { say } = await place.talk({ agent });
      for (const words of ['one', 'two', 'three']) await say(words);
      const texts = model.lastContents.flatMap(({ parts = [] }) => parts.map((part) => part.text));
      expect(texts).toEqual(['two', 'Two.', 'three']);
    },
    'yes, driven turn by turn',
  ),
];
