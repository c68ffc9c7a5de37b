import { describe, expect, it } from 'vitest';
import { fourTools } from '../support/demo-tools.ts';
import { harness, say, shape } from '../support/harness.ts';
import { call, streamed, text } from '../support/scripted-model.ts';
import { answerBody, approve } from './support/answers.ts';

describe('a turn over SSE', () => {
  it('streams text token by token and ends with one [DONE]', async () => {
    const { post } = harness([streamed('Hel', 'lo')]);
    const { chunks, dones, status } = await post(say('hi'));
    expect(status).toBe(200);
    expect(chunks.map((chunk) => ('delta' in chunk ? chunk.delta : chunk.type))).toEqual([
      'start',
      'text-start',
      'Hel',
      'lo',
      'text-end',
      'finish',
    ]);
    expect(dones).toBe(1);
  });

  it('runs a server tool and goes on', async () => {
    const { weather } = fourTools();
    const { post } = harness([[call('get_weather', { location: 'Tokyo' })], [text('20 degrees')]], [weather]);
    const { chunks } = await post(say('weather?'));
    expect(shape(chunks)).toEqual([
      'start',
      'tool-input-start',
      'tool-input-available',
      'tool-output-available',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
    ]);
  });

  it('pauses for an approval and resumes with the answer', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const { post, get } = harness(
      [[call('process_payment', { amount: 50, recipient: 'Hanako' })], [text('Paid.')]],
      [payment],
    );
    const first = await post(say('pay'));
    expect(shape(first.chunks)).toEqual([
      'start',
      'tool-input-start',
      'tool-input-available',
      'tool-approval-request',
      'finish',
    ]);
    expect(log).toEqual([]);
    const start = first.chunks[0] as { messageId: string };
    const request = first.chunks[3] as { approvalId: string; toolCallId: string };
    const second = await post({
      id: 'chat-1',
      messages: [
        {
          id: start.messageId,
          role: 'assistant',
          parts: [
            {
              type: 'tool-process_payment',
              toolCallId: request.toolCallId,
              state: 'approval-responded',
              input: { amount: 50, recipient: 'Hanako' },
              approval: { id: request.approvalId, approved: true },
            },
          ],
        },
      ],
    });
    expect(shape(second.chunks)).toEqual([
      'start',
      'tool-output-available',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
    ]);
    expect(log).toEqual(['pay Hanako 50']);
    const audit = await (await get('/approvals/chat-1')).text();
    expect(
      audit
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).kind),
    ).toEqual(['issued', 'approved', 'consumed']);
    const session = await (await get('/sessions/chat-1')).json();
    expect(session.messages).toHaveLength(2);
    expect(session.messages[1].parts[0].state).toBe('output-available');
  });

  it('[S2c] [T11a] answers without an id find their session by the approval, and only that of their user', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const { post } = harness(
      [[call('process_payment', { amount: 50, recipient: 'Hanako' })], [text('Paid.')], [text('Hello.')]],
      [payment],
      { authenticate: (request) => request.headers.get('x-user') },
    );
    const asked = await post(say('pay', 'chat-1'), { 'x-user': 'ann' });
    const { id: _, ...body } = answerBody(asked, [approve()]) as { id: string };
    expect((await post(body, { 'x-user': 'bob' })).json).toMatchObject({
      error: { code: 'nothing_to_answer' },
    });
    expect(log).toEqual([]);
    const answered = await post(body, { 'x-user': 'ann' });
    expect([answered.headers.get('x-duologue-session'), shape(answered.chunks).at(-1), log]).toEqual([
      'chat-1',
      'finish',
      ['pay Hanako 50'],
    ]);
  });
});
