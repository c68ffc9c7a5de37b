import { InMemoryArtifactService, LlmAgent } from '@google/adk';
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
];
