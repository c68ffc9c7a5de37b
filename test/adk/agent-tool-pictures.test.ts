import { AgentTool, LlmAgent, type LlmResponse } from '@google/adk';
import { expect, it } from 'vitest';
import { png } from '../server/support/images.ts';
import { harness, say } from '../support/harness.ts';
import { call, ScriptedModel, text } from '../support/scripted-model.ts';

const picture: LlmResponse = {
  content: {
    role: 'model',
    parts: [{ inlineData: { data: png.toString('base64'), mimeType: 'image/png' } }],
  },
};

const partsSeenBy = (model: ScriptedModel) => model.lastContents.flatMap(({ parts }) => parts ?? []);

it('[S27] an agent that is used as a tool gets the pictures of its own session, not references to them', async () => {
  const painter = new ScriptedModel([[picture], [text('Better.')]]);
  const tool = new AgentTool({
    agent: new LlmAgent({ name: 'painter', description: 'Paints.', model: painter }),
  });
  const model = new ScriptedModel([
    [call('painter', { request: 'a dot' })],
    [text('Here.')],
    [call('painter', { request: 'a larger dot' })],
    [text('Here again.')],
  ]);
  const agent = new LlmAgent({ name: 'assistant', model, tools: [tool] });
  const { post } = harness([], [], { agent });
  await post(say('paint a dot'));
  await post(say('larger'));
  expect(partsSeenBy(painter).filter(({ text }) => text === undefined)).toEqual(picture.content?.parts);
});

it('[S27] an agent that is both a tool and a sub-agent gets the pictures of the conversation', async () => {
  const inner = new ScriptedModel([[text('A dot.')]]);
  const critic = new LlmAgent({ name: 'critic', description: 'Looks.', model: inner });
  const model = new ScriptedModel([[call('transfer_to_agent', { agentName: 'critic' })]]);
  const tools = [
    new AgentTool({
      agent: new LlmAgent({
        name: 'other',
        description: 'Asks.',
        model,
        tools: [new AgentTool({ agent: critic })],
      }),
    }),
  ];
  const agent = new LlmAgent({ name: 'assistant', model, subAgents: [critic], tools });
  const { post } = harness([], [], { agent });
  const url = `data:image/png;base64,${png.toString('base64')}`;
  const parts = [{ type: 'file', mediaType: 'image/png', url }];
  await post({ id: 'chat-1', messages: [{ id: 'user-1', role: 'user', parts }] });
  expect(partsSeenBy(inner).filter((part) => part.fileData ?? part.inlineData)).toMatchObject(
    picture.content?.parts ?? [],
  );
});
