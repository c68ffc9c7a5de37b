import { FunctionTool } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { Grammar, type Message } from '../../src/protocol/index.ts';
import { ManualClock } from '../support/clock.ts';
import { fourTools } from '../support/demo-tools.ts';
import { type Harness, harness, say, shape } from '../support/harness.ts';
import { call, calls, text } from '../support/scripted-model.ts';
import { sdks } from '../support/sdks.ts';
import { answers, output, type Reply } from './support/answers.ts';
import { client } from './support/chat.ts';
import { turns } from './support/turns.ts';

const args = { amount: 50, recipient: '花子' };

function server(
  script: Parameters<typeof harness>[0],
  options: Parameters<typeof harness>[2] = {},
): Harness & { log: string[] } {
  const log: string[] = [];
  const { payment, location, weather } = fourTools(log);
  return {
    ...harness(script, [payment, location, weather], { confirmations: 'tool', ...options }),
    log,
  };
}

const confirm = (confirmed: boolean): Reply => output('adk_request_confirmation', { confirmed });
const stored = async ({ get }: Harness): Promise<Message[]> =>
  (await (await get('/sessions/chat-1')).json()).messages;

describe('the confirmation dialect', () => {
  it('[T21a] [T21b] [C8b] asks with a call of its own, and the original call follows the answer', async () => {
    const made = server([[call('process_payment', args, 'function-call-123')], [text('送金しました。')]]);
    const first = await made.post(say('花子さんに50ドル送金してください'));
    const toolMetadata = { runsOn: 'client', asks: false };
    const confirmationId = expect.stringMatching(/^approval_/);
    expect(first.chunks.slice(1)).toEqual([
      {
        type: 'tool-input-start',
        toolCallId: confirmationId,
        toolName: 'adk_request_confirmation',
        toolMetadata,
      },
      {
        type: 'tool-input-available',
        toolCallId: confirmationId,
        toolName: 'adk_request_confirmation',
        input: {
          originalFunctionCall: { id: 'function-call-123', name: 'process_payment', args },
          toolConfirmation: { confirmed: false },
        },
        toolMetadata,
      },
      { type: 'finish', finishReason: 'tool-calls', messageMetadata: { usage: null } },
    ]);
    expect(made.log).toEqual([]);
    const second = await answers(made, first, confirm(true));
    expect(second.chunks).toMatchObject([
      { type: 'start', messageId: (first.chunks[0] as { messageId: string }).messageId },
      { type: 'tool-output-available', toolCallId: confirmationId, output: { confirmed: true } },
      { type: 'tool-input-start', toolCallId: 'function-call-123', toolName: 'process_payment' },
      { type: 'tool-input-available', toolCallId: 'function-call-123', input: args },
      { type: 'tool-output-available', toolCallId: 'function-call-123', output: { success: true } },
      { type: 'start-step' },
      { type: 'text-start' },
      { type: 'text-delta', delta: '送金しました。' },
      { type: 'text-end' },
      { type: 'finish', finishReason: 'stop' },
    ]);
    expect(made.log).toEqual(['pay 花子 50']);
    const grammar = new Grammar('sse');
    expect([...first.chunks, ...second.chunks].flatMap((chunk) => grammar.push(chunk))).toEqual([]);
    expect(grammar.end()).toEqual([]);
  });

  it('[T21c] on denial the original call is shown too, with the denial', async () => {
    const made = server([[call('process_payment', args)], [text('やめました。')]]);
    const first = await made.post(say('pay'));
    const second = await answers(made, first, confirm(false));
    expect(shape(second.chunks)).toEqual([
      'start',
      'tool-output-available',
      'tool-input-start',
      'tool-input-available',
      'tool-output-error',
      'start-step',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
    ]);
    expect(second.chunks[1]).toMatchObject({ output: { confirmed: false } });
    expect(second.chunks[4]).toMatchObject({ errorText: 'User denied the tool call' });
    expect(made.log).toEqual([]);
    const audit = await (await made.get('/approvals/chat-1')).text();
    expect(
      audit
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).kind),
    ).toEqual(['issued', 'denied']);
  });

  it.each([{}, { confirmed: 'yes' }, null, 'true', { confirmed: 1 }])(
    '[T21b] the output %j decides nothing',
    async (given) => {
      const made = server([[call('process_payment', args)], [text('Ok')]]);
      const first = await made.post(say('pay'));
      const refused = await answers(made, first, output('adk_request_confirmation', given));
      expect(refused.status).toBe(409);
      expect(made.log).toEqual([]);
      await answers(made, first, confirm(true));
      expect(made.log).toEqual(['pay 花子 50']);
    },
  );

  it('[T21] an output claimed for the original call decides nothing', async () => {
    const made = server([[call('process_payment', args, 'c1')], [text('Ok')]]);
    const first = await made.post(say('pay'));
    const claim: Reply = () => ({
      type: 'tool-process_payment',
      toolCallId: 'c1',
      state: 'output-available',
      input: args,
      output: { confirmed: true },
    });
    expect((await answers(made, first, claim)).status).toBe(409);
    expect(made.log).toEqual([]);
  });

  it('[T21] a client tool that asks waits for its output after the confirmation', async () => {
    const made = server([[call('get_location', {}, 'c1')], [text('Here.')]]);
    const first = await made.post(say('where'));
    const second = await answers(made, first, confirm(true));
    expect(shape(second.chunks)).toEqual([
      'start',
      'tool-output-available',
      'tool-input-start',
      'tool-input-available',
      'finish',
    ]);
    const third = await answers(made, second, output('get_location', { lat: 35 }));
    expect(shape(third.chunks)).toEqual([
      'start',
      'tool-output-available',
      'start-step',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
    ]);
  });

  it('[T21] two confirmations in one response, answered in one request', async () => {
    const made = server([
      [calls({ name: 'process_payment', args }, { name: 'process_payment', args: { ...args, amount: 60 } })],
      [text('Ok')],
    ]);
    const first = await made.post(say('pay'));
    const second: Reply = (chunks) => {
      const inputs = chunks.filter((chunk) => chunk.type === 'tool-input-available');
      return { ...confirm(true)(chunks), toolCallId: inputs[1]?.toolCallId, input: inputs[1]?.input };
    };
    const answered = await answers(made, first, confirm(false), second);
    expect(made.log).toEqual(['pay 花子 60']);
    expect(answered.chunks.at(-1)).toMatchObject({ finishReason: 'stop' });
  });

  it('[T21] a tool that asks inside its own code is confirmed the same way', async () => {
    const erase = new FunctionTool({
      name: 'erase',
      description: 'Erases',
      execute: (_args: unknown, context) => {
        if (context?.toolConfirmation?.confirmed) return { erased: true };
        context?.requestConfirmation({ hint: 'Really?' });
        return {};
      },
    });
    const made = harness([[call('erase', {}, 'c1')], [text('Gone.')]], [erase], { confirmations: 'tool' });
    const first = await made.post(say('erase'));
    const confirmation: Reply = (chunks) => output('adk_request_confirmation', { confirmed: true })(chunks);
    const second = await answers(made, first, confirmation);
    expect(shape(second.chunks)).toEqual([
      'start',
      'tool-output-available',
      'tool-output-available',
      'start-step',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
    ]);
    const grammar = new Grammar('sse');
    expect([...first.chunks, ...second.chunks].flatMap((chunk) => grammar.push(chunk))).toEqual([]);
    expect(grammar.openCalls()).toEqual([]);
  });

  it('[T21][T16] a confirmation whose time is up ends as what it is: the call it asked about was never shown', async () => {
    const clock = new ManualClock();
    const made = server([[call('process_payment', args)], [text('Too late.')]], {
      clock,
      approvalTimeoutMs: 30_000,
    });
    const first = await made.post(say('pay'));
    clock.advance(30_000);
    const second = await answers(made, first, confirm(true));
    expect(second.chunks.slice(0, 3)).toEqual([
      { type: 'start', messageId: expect.any(String) },
      {
        type: 'tool-output-error',
        toolCallId: expect.stringMatching(/^approval_/),
        errorText: 'Approval request timed out',
      },
      { type: 'start-step' },
    ]);
    const grammar = new Grammar('sse');
    expect([...first.chunks, ...second.chunks].flatMap((chunk) => grammar.push(chunk))).toEqual([]);
    expect([...grammar.end(), ...grammar.openCalls(), ...made.log]).toEqual([]);
  });

  it('[T21][S8] a stop ends the confirmation that is on the screen', async () => {
    let isWaiting = false;
    const wait = new FunctionTool({
      name: 'wait',
      description: 'Waits',
      execute: () => {
        isWaiting = true;
        return new Promise(() => undefined);
      },
    });
    const { payment } = fourTools();
    const script = [[calls({ name: 'process_payment', args }, { name: 'wait', args: {} })]];
    const made = harness(script, [payment, wait], { confirmations: 'tool' });
    const posted = made.post(say('pay and wait'));
    await turns(() => isWaiting);
    await made.duologue.fetch(new Request('http://localhost/sessions/chat-1/stop', { method: 'POST' }));
    const { chunks } = await posted;
    const ended = chunks.flatMap((chunk) => (chunk.type === 'tool-output-error' ? [chunk.toolCallId] : []));
    const shown = chunks.flatMap((chunk) =>
      chunk.type === 'tool-input-available' ? [chunk.toolCallId] : [],
    );
    expect(ended.sort()).toEqual(shown.sort());
    const grammar = new Grammar('sse');
    expect(chunks.flatMap((chunk) => grammar.push(chunk))).toEqual([]);
    expect([...grammar.end(), ...grammar.openCalls()]).toEqual([]);
  });

  it('[T18] a new message closes the confirmation', async () => {
    const made = server([[call('process_payment', args)], [text('Ok')]]);
    const first = await made.post(say('pay'));
    const next = await made.post(say('never mind'));
    const [, answer] = await stored(made);
    expect(next.chunks.filter(({ type }) => type === 'data-settled')).toEqual([
      {
        type: 'data-settled',
        data: {
          toolCallId: first.chunks.flatMap((chunk) => ('toolCallId' in chunk ? [chunk.toolCallId] : []))[0],
          messageId: answer?.id,
          errorText: 'Superseded by a newer message',
        },
        transient: true,
      },
    ]);
    expect(answer?.parts).toMatchObject([
      { state: 'output-error', errorText: 'Superseded by a newer message' },
    ]);
    expect((await answers(made, first, confirm(true))).status).toBe(409);
    expect(made.log).toEqual([]);
  });

  describe.each(sdks)('with the chat of ai %s and addToolOutput', (_, sdk) => {
    it.each([true, false])('[T21] confirmed %s', async (confirmed) => {
      const made = server([[call('process_payment', args, 'c1')], [text('After.')]]);
      const { chat, answer, quiet, exchanges } = client(sdk, made.duologue, {
        sendAutomaticallyWhen: sdk.lastAssistantMessageIsCompleteWithToolCalls,
      });
      await chat.sendMessage({ text: 'pay' });
      await quiet();
      const [part] = answer().parts;
      if (part === undefined || !('toolCallId' in part)) throw new Error('no confirmation');
      await chat.addToolOutput({
        tool: 'adk_request_confirmation',
        toolCallId: part.toolCallId,
        output: { confirmed },
      });
      await quiet();
      expect(exchanges.map(({ status }) => status)).toEqual([200, 200]);
      expect(chat.status).toBe('ready');
      expect(JSON.parse(JSON.stringify(answer())).parts).toMatchObject([
        { type: 'tool-adk_request_confirmation', state: 'output-available', output: { confirmed } },
        {
          type: 'tool-process_payment',
          toolCallId: 'c1',
          state: confirmed ? 'output-available' : 'output-error',
        },
        { type: 'step-start' },
        { type: 'text', text: 'After.', state: 'done' },
      ]);
      expect((await stored(made))[1]).toEqual(JSON.parse(JSON.stringify(answer())));
      expect(made.log).toEqual(confirmed ? ['pay 花子 50'] : []);
    });
  });
});
