import { AgentTool, LlmAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/adk/index.ts';
import { Grammar, type Message } from '../../src/protocol/index.ts';
import type { DuologueOptions } from '../../src/server/index.ts';
import { harness, say } from '../support/harness.ts';
import { call, calls, ScriptedModel, type ScriptedTurn, text } from '../support/scripted-model.ts';
import { sdks } from '../support/sdks.ts';
import { cards, client } from './support/chat.ts';

/** A server whose agent uses two agents as tools, one inside the other. Each has a tool that asks. */
function bank(
  turns: Record<'outer' | 'banker' | 'teller', readonly ScriptedTurn[]>,
  options: Partial<DuologueOptions> = {},
) {
  const ran: string[] = [];
  const act = defineTool({
    name: 'act',
    description: 'Acts.',
    needsApproval: true,
    execute: (_args, { agentName }) => {
      ran.push(agentName);
      return { done: true };
    },
  });
  const description = 'An agent.';
  const teller = new LlmAgent({
    name: 'teller',
    description,
    model: new ScriptedModel(turns.teller),
    tools: [act],
  });
  const banker = new LlmAgent({
    name: 'banker',
    description,
    model: new ScriptedModel(turns.banker),
    tools: [act, new AgentTool({ agent: teller })],
  });
  const model = new ScriptedModel(turns.outer);
  const agent = new LlmAgent({ name: 'assistant', model, tools: [act, new AgentTool({ agent: banker })] });
  return { ...harness([], [], { agent, ...options }), ran };
}

const ask = (name: string) => call(name, { request: 'go' });

/** The types of the parts of a message, with the states of calls. */
const shape = ({ parts }: Message) =>
  parts.map((part) =>
    'toolCallId' in part ? `${part.type.slice('tool-'.length)} ${part.state}` : part.type,
  );

describe.each(sdks)(
  'the chat of ai %s with its own transport, and an agent that is used as a tool',
  (_, sdk) => {
    const approval = sdk.lastAssistantMessageIsCompleteWithApprovalResponses;
    const toolCalls = sdk.lastAssistantMessageIsCompleteWithToolCalls;
    const helpers = {
      'the approval helper': approval,
      'both helpers': (options: Parameters<typeof approval>[0]) => approval(options) || toolCalls(options),
    };

    it.each(Object.entries(helpers))(
      '[C8c] %s sends the approvals of calls inside, each once, and ends',
      async (_name, helper) => {
        const made = bank({
          outer: [[ask('banker')], [text('All is done.')]],
          banker: [[call('act')], [call('act')], [ask('teller')], [text('I did it.')]],
          teller: [[call('act')], [text('I too.')]],
        });
        const { chat, answer, quiet, exchanges } = client(sdk, made.duologue, {
          sendAutomaticallyWhen: helper,
        });
        await chat.sendMessage({ text: 'go' });
        await quiet();
        for (let round = 0; round < 3; round++) {
          const asked = cards(answer());
          expect(asked).toHaveLength(1);
          await chat.addToolApprovalResponse({ id: asked[0] ?? '', approved: true });
          await quiet();
        }
        expect(made.ran).toEqual(['banker', 'banker', 'teller']);
        expect(answer().parts.findLast(({ type }) => type === 'text')).toMatchObject({
          text: 'All is done.',
        });
        expect([chat.status, cards(answer())]).toEqual(['ready', []]);
        // The tool-calls helper sends once more after the last answer (T14d).
        expect(exchanges.map(({ status }) => status)).toEqual(Array(helper === approval ? 4 : 5).fill(200));
      },
    );

    it('[C8c] [C8b] the tool-calls helper sends the confirmations of calls inside, in the confirmation dialect', async () => {
      const made = bank(
        {
          outer: [[ask('banker')], [text('All is done.')]],
          banker: [[call('act')], [call('act')], [text('I did it.')]],
          teller: [],
        },
        { confirmations: 'tool' },
      );
      const { chat, answer, quiet, exchanges } = client(sdk, made.duologue, {
        sendAutomaticallyWhen: toolCalls,
      });
      await chat.sendMessage({ text: 'go' });
      await quiet();
      for (let round = 0; round < 2; round++) {
        const open = answer().parts.findLast(
          (part) => 'toolCallId' in part && part.state === 'input-available',
        );
        if (open?.type !== 'tool-adk_request_confirmation' || !('toolCallId' in open))
          throw new Error(`No confirmation waits: ${shape(answer()).join(', ')}`);
        const { toolCallId } = open;
        const tool = 'adk_request_confirmation';
        await chat.addToolOutput({ tool, toolCallId, output: { confirmed: true } } as never);
        await quiet();
      }
      expect(made.ran).toEqual(['banker', 'banker']);
      expect(answer().parts.findLast(({ type }) => type === 'text')).toMatchObject({ text: 'All is done.' });
      expect(chat.status).toBe('ready');
      expect(exchanges.length).toBeLessThanOrEqual(4);
    });

    it('[C8c] an approval is sent after a reload as well', async () => {
      const made = bank({
        outer: [[ask('banker')], [text('All is done.')]],
        banker: [[call('act')], [text('I did it.')]],
        teller: [],
      });
      const first = client(sdk, made.duologue);
      await first.chat.sendMessage({ text: 'go' });
      await first.quiet();
      const { messages } = (await (await made.get('/sessions/chat-1')).json()) as { messages: Message[] };
      const page = client(sdk, made.duologue, { sendAutomaticallyWhen: approval, messages });
      expect(shape(page.answer())).toEqual([
        'banker input-available',
        'step-start',
        'act approval-requested',
      ]);
      await page.chat.addToolApprovalResponse({ id: cards(page.answer())[0] ?? '', approved: true });
      await page.quiet();
      expect([made.ran, page.exchanges.length]).toEqual([['banker'], 1]);
      expect(shape(page.answer())).toEqual([
        'banker output-available',
        'step-start',
        'act output-available',
        'text',
      ]);
    });

    it('[C8c] two agents that wait at once are answered in one request', async () => {
      const made = bank({
        outer: [
          [calls({ name: 'banker', args: { request: 'a' } }, { name: 'banker', args: { request: 'b' } })],
          [text('Both.')],
        ],
        banker: [[call('act')], [call('act')], [text('One.')], [text('Two.')]],
        teller: [],
      });
      const { chat, answer, quiet, exchanges } = client(sdk, made.duologue, {
        sendAutomaticallyWhen: approval,
      });
      await chat.sendMessage({ text: 'go' });
      await quiet();
      expect(shape(answer())).toEqual([
        'banker input-available',
        'banker input-available',
        'step-start',
        'act approval-requested',
        'act approval-requested',
      ]);
      for (const id of cards(answer())) await chat.addToolApprovalResponse({ id, approved: true });
      await quiet();
      expect([made.ran, exchanges.length, chat.status]).toEqual([['banker', 'banker'], 2, 'ready']);
      expect(answer().parts.at(-1)).toMatchObject({ type: 'text', text: 'Both.' });
    });

    it('[C8c] a call of the outer agent that waits beside it stays in the same step, so that no answer is lost', async () => {
      const made = bank({
        outer: [[calls({ name: 'act' }, { name: 'banker', args: { request: 'go' } })], [text('Both.')]],
        banker: [[call('act')], [text('Done.')]],
        teller: [],
      });
      const { chat, answer, quiet } = client(sdk, made.duologue, { sendAutomaticallyWhen: approval });
      await chat.sendMessage({ text: 'go' });
      await quiet();
      expect(shape(answer())).not.toContain('step-start');
      for (const id of cards(answer())) await chat.addToolApprovalResponse({ id, approved: true });
      await quiet();
      // No helper of the SDK sends while the call of the agent is open. The page sends both answers itself.
      await chat.sendMessage();
      await quiet();
      expect(made.ran.toSorted()).toEqual(['assistant', 'banker']);
      expect(answer().parts.at(-1)).toMatchObject({ type: 'text', text: 'Both.' });
    });
  },
);

it('[C8c] the step of a call inside an agent keeps the grammar', async () => {
  const made = bank({
    outer: [[ask('banker')], [text('All is done.')]],
    banker: [[ask('teller')], [text('I did it.')]],
    teller: [[call('act')], [text('I too.')]],
  });
  const { chunks } = await made.post(say('go'));
  const grammar = new Grammar('sse');
  expect([...chunks.flatMap((chunk) => grammar.push(chunk)), ...grammar.end()]).toEqual([]);
  const calls = chunks.flatMap((chunk) =>
    chunk.type === 'tool-input-start' ? [chunk.toolName] : chunk.type === 'start-step' ? ['step'] : [],
  );
  expect(calls).toEqual(['banker', 'step', 'teller', 'step', 'act']);
});
