import { describe, expect, it, onTestFinished } from 'vitest';
import type { Chunk, Message } from '../../src/protocol/index.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { type Posted, read, say } from '../support/harness.ts';
import { type Received, TestSocket } from '../support/socket.ts';
import { answerBody, approve, deny, only, type Reply } from './support/answers.ts';
import { payingServer } from './support/payment-server.ts';
import { folderOfItsOwn, start } from './support/server-process.ts';

/** Starts the next server on a folder whose last one was killed: here, where it need not be killed. */
async function restart(folder: string): Promise<{ url: string; lines: string[] }> {
  const lines: string[] = [];
  const { url, close } = await payingServer(await openSqliteStore(folder), (paid, wallet) => {
    lines.push('paid');
    return { paid, wallet };
  });
  onTestFinished(close);
  return { url, lines };
}

const userMessage = (words: string) => ({
  id: `user-${words}`,
  role: 'user',
  parts: [{ type: 'text', text: words }],
});
const acceptedIn = (all: readonly Received[]) =>
  all.flatMap((one) => (one.kind === 'chunk' && one.chunk.type === 'data-accepted' ? [one.chunk.data] : []));

async function connect(url: string): Promise<TestSocket> {
  const socket = new TestSocket(`${url.replace('http', 'ws')}/live?session=chat-1`);
  await socket.opened();
  return socket;
}

const post = (url: string, body: object): Promise<Posted> =>
  fetch(`${url}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).then(read);

const messagesIn = async (url: string): Promise<Message[]> =>
  (await (await fetch(`${url}/sessions/chat-1`)).json()).messages;

const auditOf = async (url: string): Promise<string[]> =>
  (await (await fetch(`${url}/approvals/chat-1`)).text())
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line).kind);

const words = (chunks: readonly Chunk[]) =>
  only(chunks, 'text-delta')
    .map(({ delta }) => delta)
    .join('');

/** The answer as a page sends it that was loaded after the restart: from the stored message. */
function fromStored(message: Message | undefined, approved: boolean): object {
  return {
    id: 'chat-1',
    messages: [
      {
        ...message,
        parts: message?.parts.map((part) =>
          'approval' in part
            ? { ...part, state: 'approval-responded', approval: { ...part.approval, approved } }
            : part,
        ),
      },
    ],
  };
}

/** Asks for a payment, answers the card on a server that stops at the place given, kills it, and starts it again. */
async function killedAt(
  place: string,
  reply: Reply,
): Promise<{ first: Posted; next: { url: string; lines: string[] }; before: string[] }> {
  const folder = folderOfItsOwn();
  const server = await start(folder, place);
  const first = await post(server.url, say('pay'));
  const answering = post(server.url, answerBody(first, [reply])).catch(() => null);
  await server.wrote(`at ${place}`);
  await server.kill();
  await answering;
  return { first, next: await restart(folder), before: server.lines };
}

describe('a server that is killed', { timeout: 180_000 }, () => {
  it('[R7e] [B16b] while messages wait: each is answered after the restart, once and in its order', async () => {
    const folder = folderOfItsOwn();
    const first = await start(folder);
    const socket = await connect(first.url);
    for (const [index, words] of ['hang', 'one', 'two', 'three'].entries()) {
      socket.send('message', { requestId: `r${index}`, messages: [userMessage(words)] });
    }
    await socket.until((all) => acceptedIn(all).length === 4);
    await first.kill();

    const second = await restart(folder);
    const again = await connect(second.url);
    // A client that is not sure sends again.
    again.send('message', { requestId: 'r2', messages: [userMessage('two')] });
    again.send('message', { messages: [userMessage('three')] });
    await again.until((all) => all.filter((one) => one.kind === 'done').length === 4);
    const response = await fetch(`${second.url}/sessions/chat-1`);
    const { messages } = (await response.json()) as { messages: Message[] };
    const questions = messages.filter(({ role }) => role === 'user').map(({ id }) => id);
    expect(questions).toEqual(['user-hang', 'user-one', 'user-two', 'user-three']);
    expect(messages.map(({ role }) => role)).toEqual(questions.flatMap(() => ['user', 'assistant']));
    const reported = acceptedIn(socket.received).map(({ messageId }) => messageId);
    expect(messages.filter(({ role }) => role === 'assistant').map(({ id }) => id)).toEqual(reported);
  });

  it('[T15][R7] before the card is written down: nothing was asked, and the same message asks anew', async () => {
    const folder = folderOfItsOwn();
    const server = await start(folder, 'before-issue');
    const asking = post(server.url, say('pay')).catch(() => null);
    await server.wrote('at before-issue');
    await server.kill();
    await asking;
    const next = await restart(folder);
    expect(await auditOf(next.url)).toEqual([]);
    const again = await post(next.url, say('pay'));
    expect(only(again.chunks, 'tool-approval-request')).toHaveLength(1);
    const done = await post(next.url, answerBody(again, [approve()]));
    expect(words(done.chunks)).toBe('Result: {"paid":50,"wallet":950}');
    expect(await auditOf(next.url)).toEqual(['issued', 'approved', 'consumed']);
    expect((await messagesIn(next.url)).map(({ role }) => role)).toEqual(['user', 'assistant']);
  });

  it('[T15] [T11b] after the card is written down, before it is shown: it cannot be answered, and the same message asks anew', async () => {
    const folder = folderOfItsOwn();
    const server = await start(folder, 'after-issue');
    const asking = post(server.url, say('pay')).catch(() => null);
    await server.wrote('at after-issue');
    await server.kill();
    await asking;
    const next = await restart(folder);
    expect(await auditOf(next.url)).toEqual(['issued']);
    const again = await post(next.url, say('pay'));
    const done = await post(next.url, answerBody(again, [approve()]));
    expect(words(done.chunks)).toBe('Result: {"paid":50,"wallet":950}');
    expect(await auditOf(next.url)).toEqual(['issued', 'expired', 'issued', 'approved', 'consumed']);
    expect(next.lines.filter((line) => line === 'paid')).toHaveLength(1);
  });

  it('[T15a] [R7] while a card waits: it is there after the restart and can be answered', async () => {
    const folder = folderOfItsOwn();
    const server = await start(folder);
    const first = await post(server.url, say('pay'));
    await server.kill();
    const next = await restart(folder);
    const [, message] = await messagesIn(next.url);
    expect(message?.parts).toMatchObject([{ state: 'approval-requested', input: { amount: 50 } }]);
    const done = await post(next.url, answerBody(first, [approve()]));
    expect(words(done.chunks)).toBe('Result: {"paid":50,"wallet":950}');
    expect(next.lines).toContain('paid');
    expect((await messagesIn(next.url)).at(-1)?.parts).toMatchObject([
      { state: 'output-available', approval: { approved: true } },
      { type: 'text' },
    ]);
  });

  it('[T15] after the decision: the page shows it as decided, and sending it again pays once', async () => {
    const { next, before } = await killedAt('after-decision', approve());
    expect(before).not.toContain('paid');
    expect(await auditOf(next.url)).toEqual(['issued', 'approved']);
    const [, message] = await messagesIn(next.url);
    expect(message?.parts).toMatchObject([{ state: 'approval-responded', approval: { approved: true } }]);
    // The person cannot take back what was decided.
    expect((await post(next.url, fromStored(message, false))).status).toBe(409);
    const done = await post(next.url, fromStored(message, true));
    expect(words(done.chunks)).toBe('Result: {"paid":50,"wallet":950}');
    const again = await post(next.url, fromStored(message, true));
    expect(again.status).toBe(409);
    expect(next.lines.filter((line) => line === 'paid')).toHaveLength(1);
    expect(await auditOf(next.url)).toEqual(['issued', 'approved', 'refused', 'consumed']);
  });

  it('[T15] inside the tool: the outcome is unknown, and the tool is not run again', async () => {
    const { first, next, before } = await killedAt('in-tool', approve());
    expect(before).toContain('paid');
    const [, message] = await messagesIn(next.url);
    expect(message?.parts).toMatchObject([
      {
        state: 'output-error',
        errorText:
          'The outcome is unknown: the server stopped while the tool was running. It was not run again.',
        approval: { approved: true },
      },
    ]);
    const done = await post(next.url, answerBody(first, [approve()]));
    expect(words(done.chunks)).toContain('The outcome is unknown');
    expect(next.lines).not.toContain('paid');
    expect(await auditOf(next.url)).toEqual(['issued', 'approved', 'consumed']);
    expect((await post(next.url, answerBody(first, [approve()]))).status).toBe(409);
  });

  it('[T15] after the tool, before the response: the result is there and the agent goes on with it', async () => {
    const { first, next, before } = await killedAt('after-tool', approve());
    expect(before.filter((line) => line === 'paid')).toHaveLength(1);
    const [, message] = await messagesIn(next.url);
    expect(message?.parts).toMatchObject([
      { state: 'output-available', output: { paid: 50, wallet: 950 }, approval: { approved: true } },
    ]);
    const done = await post(next.url, answerBody(first, [approve()]));
    expect(words(done.chunks)).toBe('Result: {"paid":50,"wallet":950}');
    expect(next.lines).not.toContain('paid');
    const again = await post(next.url, say('pay', 'chat-1', 'user-2'));
    const second = await post(next.url, answerBody(again, [approve()]));
    expect(words(second.chunks)).toBe('Result: {"paid":50,"wallet":900}');
  });

  it('[T15] after a denial was written to the history: it stays a denial', async () => {
    const { first, next, before } = await killedAt('after-tool', deny(0, 'no'));
    expect(before).not.toContain('paid');
    const [, message] = await messagesIn(next.url);
    expect(message?.parts).toMatchObject([
      { state: 'output-error', errorText: 'User denied the tool call: no', approval: { approved: false } },
    ]);
    expect((await post(next.url, answerBody(first, [approve()]))).chunks.length).toBeGreaterThan(0);
    expect(next.lines).not.toContain('paid');
  });
});
