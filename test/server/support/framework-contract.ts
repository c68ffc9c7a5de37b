import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { DuologueSseTransport, DuologueTransport, resumeWhen } from '../../../src/client/index.ts';
import { systemTimers, type Timers } from '../../../src/client/platform.ts';
import type { Message } from '../../../src/protocol/index.ts';
import { Relay } from '../../browser/support/relay.ts';
import { brief, chatOf, type TestChat } from '../../client/support/chat.ts';
import { say } from '../../support/harness.ts';
import { hasStockSocket, newestSdk } from '../../support/sdks.ts';
import { BASE_PATH } from './framework-app.ts';
import { listen } from './listen.ts';
import { turns } from './turns.ts';

/** A framework that serves `frameworkApp`. */
export interface Framework {
  name: string;
  /** What it has no means for: a route handler of Next.js gets no upgrades. */
  hasSockets?: false;
  /** Serves a new application; `url` is the root of the server. */
  open(): Promise<{ url: string; close(): Promise<void> }>;
}

const TRANSPORTS = { WebSocket: DuologueTransport<Message>, SSE: DuologueSseTransport<Message> };
type TransportName = keyof typeof TRANSPORTS;

/** How long our transports wait for the answer to a handshake. */
const HANDSHAKE_MS = 10_000;

/** The calls of a message by name, state and output, and its texts. */
const shown = (chat: TestChat): unknown[] => brief(chat.messages.at(-1)).map(withoutId);
const withoutId = (part: unknown): unknown => (Array.isArray(part) ? part.slice(1) : part);

/** The chat of a page with the WebSocket transport that `ai` 7 brings, and both helpers of the SDK. */
function stockChat(url: string): TestChat {
  const {
    WebSocketChatTransport,
    lastAssistantMessageIsCompleteWithApprovalResponses: approvals,
    lastAssistantMessageIsCompleteWithToolCalls: outputs,
  } = newestSdk;
  const transport = new WebSocketChatTransport<Message>({ url: `${url}/ws`, webSocket: WebSocket as never });
  onTestFinished(() => transport.close());
  return chatOf(newestSdk, {
    id: randomUUID(),
    transport,
    sendAutomaticallyWhen: (now) => approvals(now) || outputs(now),
  });
}

/** What every framework promises, over each transport that it has, with compression and a body parser before the adapter where it has them. */
export function frameworkContract(framework: Framework): void {
  const names: TransportName[] = framework.hasSockets === false ? ['SSE'] : ['WebSocket', 'SSE'];

  describe(`${framework.name} keeps the contract of frameworks`, () => {
    let server: Awaited<ReturnType<Framework['open']>>;
    beforeAll(async () => {
      server = await framework.open();
    });
    afterAll(() => server.close());

    const chatOver = (name: TransportName, url = server.url + BASE_PATH, timers = systemTimers): TestChat => {
      const executors = { get_place: () => ({ city: 'Kyoto' }) };
      const transport = new TRANSPORTS[name]({ url, WebSocket, executors, timers });
      onTestFinished(() => transport.close());
      return chatOf(newestSdk, {
        id: randomUUID(),
        transport,
        sendAutomaticallyWhen: resumeWhen(transport),
      });
    };
    const own = async (path: string) => (await fetch(server.url + path)).text();

    describe.each(names)('over %s', (name) => {
      it('carries a text', async () => {
        const chat = chatOver(name);
        await chat.sendMessage({ text: 'hi' });
        expect([shown(chat), chat.status]).toEqual([['Hello.'], 'ready']);
      });

      it.each([
        [true, ['output-available', true, { paid: 5 }], 'It gave {"paid":5}.'],
        [
          false,
          ['output-error', false, 'User denied the tool call'],
          'It gave {"error":"User denied the tool call"}.',
        ],
      ])('carries an approval that is answered with %s', async (approved, call, texts) => {
        const chat = chatOver(name);
        await chat.sendMessage({ text: 'pay' });
        const part = chat.messages.at(-1)?.parts.find((one) => 'toolCallId' in one);
        if (part === undefined || !('approval' in part) || !part.approval) throw new Error('No approval.');
        await chat.addToolApprovalResponse({ id: part.approval.id, approved });
        await turns(() => shown(chat).length === 2 && chat.status === 'ready');
        expect(shown(chat)).toEqual([call, texts]);
      });

      it('lets the browser run its tool', async () => {
        const chat = chatOver(name);
        await chat.sendMessage({ text: 'locate' });
        await turns(() => shown(chat).length === 2 && chat.status === 'ready');
        expect(shown(chat)).toEqual([['output-available', { city: 'Kyoto' }], 'It gave {"city":"Kyoto"}.']);
      });

      it('resumes a response after the connection broke', async () => {
        const relay = await new Relay(server.url).start();
        onTestFinished(() => relay.dispose());
        const chat = chatOver(name, relay.url + BASE_PATH);
        const go = randomUUID();
        const sent = chat.sendMessage({ text: `count ${go}` });
        await turns(() => shown(chat).includes('One '));
        relay.cut();
        relay.restore();
        expect(await own(`/go/${go}`)).toBe('gone on');
        await sent;
        expect([shown(chat), chat.status, chat.messages.length]).toEqual([['One two.'], 'ready', 2]);
      });

      it('says that no server is mounted where the client looks for it', async () => {
        // Next.js leaves the handshake of such a socket without an answer: the test does not wait for it.
        const after: Timers['after'] = (ms, work) => systemTimers.after(ms === HANDSHAKE_MS ? 100 : ms, work);
        const chat = chatOver(name, `${server.url}/elsewhere`, { ...systemTimers, after });
        await chat.sendMessage({ text: 'hi' });
        expect([chat.status, chat.error?.message]).toEqual([
          'error',
          expect.stringContaining('There is no Duologue server at'),
        ]);
      });
    });

    if (names.includes('WebSocket') && hasStockSocket(newestSdk))
      describe('over the WebSocket of ai 7', () => {
        it('[W1] carries a text', async () => {
          const chat = stockChat(server.url + BASE_PATH);
          await chat.sendMessage({ text: 'hi' });
          expect([shown(chat), chat.status]).toEqual([['Hello.'], 'ready']);
        });

        it.each([
          [true, ['output-available', true, { paid: 5 }]],
          [false, ['output-error', false, 'User denied the tool call']],
        ])('[W2] carries an approval that is answered with %s', async (approved, call) => {
          const chat = stockChat(server.url + BASE_PATH);
          await chat.sendMessage({ text: 'pay' });
          const part = chat.messages.at(-1)?.parts.find((one) => 'toolCallId' in one);
          if (part === undefined || !('approval' in part) || !part.approval) throw new Error('No approval.');
          await chat.addToolApprovalResponse({ id: part.approval.id, approved });
          await turns(() => shown(chat).length === 2 && chat.status === 'ready');
          expect([shown(chat)[0], chat.messages.length]).toEqual([call, 2]);
        });

        it('[W2] gets the output of a browser tool', async () => {
          const chat = stockChat(server.url + BASE_PATH);
          await chat.sendMessage({ text: 'locate' });
          const part = chat.messages.at(-1)?.parts.find((one) => 'toolCallId' in one);
          if (part === undefined || !('toolCallId' in part)) throw new Error('No call.');
          await chat.addToolOutput({
            tool: 'get_place' as never,
            toolCallId: part.toolCallId,
            output: { city: 'Kyoto' } as never,
          });
          await turns(() => shown(chat).length === 2 && chat.status === 'ready');
          expect(shown(chat)).toEqual([['output-available', { city: 'Kyoto' }], 'It gave {"city":"Kyoto"}.']);
        });

        it('[W6] resumes a response after the connection broke', async () => {
          const relay = await new Relay(server.url).start();
          onTestFinished(() => relay.dispose());
          const chat = stockChat(relay.url + BASE_PATH);
          const go = randomUUID();
          const sent = chat.sendMessage({ text: `count ${go}` });
          await turns(() => shown(chat).includes('One '));
          relay.cut();
          relay.restore();
          await sent;
          expect(chat.status).toBe('error');
          const resumed = chat.resumeStream();
          await turns(() => chat.status === 'streaming');
          expect(await own(`/go/${go}`)).toBe('gone on');
          await resumed;
          expect([shown(chat), chat.status, chat.messages.length]).toEqual([['One two.'], 'ready', 2]);
        });
      });

    it('answers below its mount path, and leaves other paths to the application, beside and below it', async () => {
      const health = await fetch(`${server.url}${BASE_PATH}/health`);
      expect([health.status, await own('/hello'), await own(`${BASE_PATH}/hello`)]).toEqual([
        200,
        'hello',
        'hello',
      ]);
    });

    it('streams to a client that accepts compression while the model still writes', async () => {
      const go = randomUUID();
      const response = await fetch(`${server.url}${BASE_PATH}/stream`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip, br' },
        body: JSON.stringify(say(`count ${go}`, randomUUID())),
      });
      const heard = listen(response);
      await heard.until((chunks) => chunks.some(({ type }) => type === 'text-delta'));
      expect(heard.isDone()).toBe(false);
      await own(`/go/${go}`);
      await heard.end();
      expect([response.headers.get('content-encoding'), heard.isDone()]).toEqual([null, true]);
    });
  });
}
