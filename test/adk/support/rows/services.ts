import {
  type CompactedEvent,
  createEvent,
  type Event,
  InMemoryArtifactService,
  InMemoryMemoryService,
  LlmAgent,
  TokenBasedContextCompactor,
  TruncatingContextCompactor,
} from '@google/adk';
import { expect } from 'vitest';
import { defineTool } from '../../../../src/adk/index.ts';
import type { Chunk } from '../../../../src/protocol/index.ts';
import { call, ScriptedModel, text } from '../../../support/scripted-model.ts';
import { type Row, works } from '../matrix.ts';
import { the } from '../talk.ts';

const description = 'A tool.';

/** A tool that saves a version of `note.txt`. */
function saver(name: string, needsApproval: boolean) {
  return defineTool({
    name,
    description,
    needsApproval,
    execute: async (_input, context) => ({ version: await context.saveArtifact('note.txt', { text: name }) }),
  });
}

/** The name and the version of the file that the chunks show. */
function fileOf(chunks: readonly Chunk[]): unknown[] {
  const { filename, version } = the(chunks, 'file').providerMetadata?.duologue ?? {};
  return [filename, version];
}

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

  works('`saveArtifact` without an option: a file with its version', async (place) => {
    const model = new ScriptedModel([
      [call('save', {}, 'call-1')],
      [call('save_asked', {}, 'call-2')],
      [text('Saved.')],
    ]);
    const agent = new LlmAgent({
      name: 'assistant',
      model,
      tools: [saver('save', false), saver('save_asked', true)],
    });
    const { say, decide } = await place.talk({ agent });
    const asked = await say('go');
    expect(fileOf(asked)).toEqual(['note.txt', 0]);
    expect(fileOf(await decide(the(asked, 'tool-approval-request'), true))).toEqual(['note.txt', 1]);
  }),

  works('`saveArtifact` of a call that is approved in another process after a kill', async (place) => {
    const tools = () => [saver('save', false), saver('save_asked', true)];
    const model = new ScriptedModel([[call('save', {}, 'call-1')], [call('save_asked', {}, 'call-2')]]);
    const agent = new LlmAgent({ name: 'assistant', model, tools: tools() });
    const asked = await (await place.talk({ agent })).say('go');
    const later = new LlmAgent({
      name: 'assistant',
      model: new ScriptedModel([[text('Saved.')]]),
      tools: tools(),
    });
    const { decide } = await place.afterKill({ agent: later });
    expect(fileOf(await decide(the(asked, 'tool-approval-request'), true))).toEqual(['note.txt', 1]);
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

  works(
    'compaction with a summary: the model gets it in place of the oldest events',
    async (place) => {
      const model = new ScriptedModel([[text('One.')], [text('Two.')], [text('Three.')]]);
      const summarizer = {
        async summarize(events: Event[]): Promise<CompactedEvent> {
          const words = `Summary of ${events.length}.`;
          const event = createEvent({ author: 'user', content: { role: 'user', parts: [{ text: words }] } });
          const [first, last] = [events[0], events.at(-1)];
          return {
            ...event,
            isCompacted: true,
            startTime: first?.timestamp ?? 0,
            endTime: last?.timestamp ?? 0,
            compactedContent: words,
          };
        },
      };
      const compactor = new TokenBasedContextCompactor({
        tokenThreshold: 1,
        eventRetentionSize: 1,
        summarizer,
      });
      const agent = new LlmAgent({ name: 'assistant', model, contextCompactors: [compactor] });
      const { say } = await place.talk({ agent });
      for (const words of ['one', 'two', 'three']) await say(words);
      const texts = model.lastContents.flatMap(({ parts = [] }) => parts.map((part) => part.text));
      expect(texts[0]).toContain('Summary of');
      expect(texts).not.toContain('one');
    },
    'yes, driven turn by turn',
  ),
];
