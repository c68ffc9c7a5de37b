import { pino } from 'pino';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { serve } from '../../src/server/adapters/node.ts';
import type { DuologueOptions, Logger } from '../../src/server/index.ts';
import { fourTools } from '../support/demo-tools.ts';
import { harness, say } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import { call, type ScriptedTurn, text } from '../support/scripted-model.ts';
import { answerBody, approve } from './support/answers.ts';

type Line = [level: string, message: string, fields: Record<string, unknown> | undefined];

function recorder(): { logger: Logger; lines: Line[] } {
  const lines: Line[] = [];
  const at = (level: string) => (message: string, fields?: Record<string, unknown>) =>
    void lines.push([level, message, fields]);
  return { lines, logger: { info: at('info'), warn: at('warn'), error: at('error') } };
}

const SECRET = 'Alice-Secret';
const pays = (): ScriptedTurn[] => [
  [call('process_payment', { amount: 50, recipient: SECRET }, 'pay-1')],
  [text('Done.')],
];
const { weather, payment } = fourTools();

function server(turns: ScriptedTurn[], options: Partial<DuologueOptions> = {}) {
  const { logger, lines } = recorder();
  return { lines, ...harness(turns, [weather, payment], { logger, ...options }) };
}

afterEach(() => vi.restoreAllMocks());

describe('without a logger', () => {
  test('a failure of the agent is told on the console, and nothing else is', async () => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    const log = vi.spyOn(console, 'log');
    const info = vi.spyOn(console, 'info');
    const made = harness([[new Error('API key is missing')], [text('hi')]], [], {
      logger: undefined as never,
    });
    await made.post(say('hello'));
    await made.post(say('again'));
    expect(error.mock.calls).toEqual([
      [
        'duologue: the agent failed: see code and message',
        expect.objectContaining({
          session: 'chat-1',
          message: expect.stringContaining('API key is missing'),
        }),
      ],
    ]);
    expect([warn, log, info].flatMap((spy) => spy.mock.calls)).toEqual([]);
  });
});

describe('a line is written', () => {
  test('for a tool that ran, and its request, without a value', async () => {
    const made = server([[call('get_weather', { location: SECRET }, 'w-1')], ...pays()]);
    const headers = { 'x-request-id': 'r-1' };
    const asked = await made.post(say('go'), headers);
    await made.post(answerBody(asked, [approve()]), { 'x-request-id': 'r-2' });
    const about = { session: 'chat-1', outcome: 'output' };
    expect(made.lines).toEqual([
      ['info', 'a tool ran', { ...about, request: 'r-1', call: 'w-1', tool: 'get_weather' }],
      ['info', 'a tool ran', { ...about, request: 'r-2', call: 'pay-1', tool: 'process_payment' }],
    ]);
    expect(JSON.stringify(made.lines)).not.toContain(SECRET);
  });

  test('for a failure of the agent', async () => {
    const made = server([[new Error('down')]]);
    await made.post(say('go'), { 'x-request-id': 'r-1' });
    expect(made.lines).toEqual([
      [
        'error',
        'the agent failed: see code and message',
        expect.objectContaining({ session: 'chat-1', request: 'r-1' }),
      ],
    ]);
  });

  test('for an approval that is refused, over HTTP', async () => {
    const made = server(pays());
    const asked = await made.post(say('go'));
    const body = answerBody(asked, [approve()]) as { messages: { parts: Record<string, unknown>[] }[] };
    for (const part of body.messages[0]?.parts ?? []) part.input = { amount: 1, recipient: SECRET };
    await made.post(body, { 'x-request-id': 'r-2' });
    expect(made.lines).toEqual([
      [
        'warn',
        'a decision was refused: see the field why; the audit log has the call',
        {
          session: 'chat-1',
          request: 'r-2',
          call: 'pay-1',
          why: 'arguments differ from those that were asked about',
        },
      ],
    ]);
  });

  test('for a request without a key, and one from a foreign page', async () => {
    const made = server([], { apiKey: 'k-secret-of-24-characters' });
    await made.get('/sessions', { 'x-request-id': 'r-1' });
    await made.get('/sessions', { 'x-request-id': 'r-2', origin: 'https://evil.example' });
    expect(made.lines).toEqual([
      [
        'warn',
        'a request was rejected: see code and why',
        expect.objectContaining({ request: 'r-1', path: '/sessions', code: 'unauthorized' }),
      ],
      [
        'warn',
        'a request was rejected: see code and why',
        expect.objectContaining({ request: 'r-2', path: '/sessions', code: 'forbidden' }),
      ],
    ]);
    expect(JSON.stringify(made.lines)).not.toContain('k-secret');
  });

  test('for what happens on a socket, with its connection', async () => {
    const { logger, lines } = recorder();
    const made = await live([...pays()], [payment], { logger });
    const socket = await made.connect();
    socket.send('message', { messages: [{ role: 'user', content: 'go' }] });
    const card = await socket.chunk('tool-approval-request');
    const connection = (await socket.chunk('data-session')).data.connectionId;
    const changed = { input: { amount: 1, recipient: SECRET } };
    socket.send('message', { ...decision(card, true, changed), requestId: 'q-1' });
    socket.send('message', { ...decision(card), requestId: 'q-2' });
    await socket.done();
    const about = { session: expect.any(String), connection, call: 'pay-1' };
    expect(lines.filter(([, message]) => / was refused| tool ran/.test(message))).toEqual([
      [
        'warn',
        'a decision was refused: see the field why; the audit log has the call',
        { ...about, request: expect.any(String), why: expect.any(String) },
      ],
      ['info', 'a tool ran', { ...about, request: 'q-2', tool: 'process_payment', outcome: 'output' }],
    ]);
  });

  test('for a socket that is refused', async () => {
    const { logger, lines } = recorder();
    const made = harness([], [], { logger, apiKey: 'a key that nobody guesses' });
    const served = await serve(made.duologue, { port: 0, quiet: true });
    const socket = new WebSocket(`${served.url.replace('http', 'ws')}/live`);
    await new Promise((resolve) => socket.once('error', resolve));
    await served.close();
    expect(lines).toEqual([
      [
        'warn',
        'a connection was rejected: see code and why',
        expect.objectContaining({ code: 'unauthorized', request: expect.any(String) }),
      ],
    ]);
  });
});

test('a logger of pino is taken as it is, and keeps the fields', async () => {
  const written: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void written.push(line) });
  const made = harness([[new Error('down')]], [], { logger });
  await made.post(say('go'), { 'x-request-id': 'r-1' });
  expect(written.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({
      level: 50,
      msg: 'the agent failed: see code and message',
      session: 'chat-1',
      request: 'r-1',
    }),
  ]);
});
