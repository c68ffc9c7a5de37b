// One turn over each transport, with the installed versions of the peer dependencies. `scripts/outdated.mjs` copies it into a project.
import { strictEqual } from 'node:assert';
import { LlmAgent } from '@google/adk';
import { type ChatTransport, DefaultChatTransport, WebSocketChatTransport } from 'ai';
import { DuologueSseTransport, DuologueTransport } from 'duologue/client';
import type { Message } from 'duologue/protocol';
import { useDuologue } from 'duologue/react';
import { createDuologue } from 'duologue/server';
import { serve } from 'duologue/server/node';
import { scriptModel } from 'duologue/testing';
import { WebSocket } from 'ws';

const model = scriptModel(['Hello.', 'Hello.', 'Hello.', 'Hello.']);
const duologue = createDuologue({ agent: new LlmAgent({ name: 'assistant', model }) });
const { url, close } = await serve(duologue, { port: 0, quiet: true });

async function turn(transport: ChatTransport<Message>, chatId: string): Promise<string> {
  const stream = await transport.sendMessages({
    trigger: 'submit-message',
    chatId,
    messageId: undefined,
    messages: [{ id: 'm-1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
    abortSignal: undefined,
  });
  const reader = stream.getReader();
  let text = '';
  for (let read = await reader.read(); !read.done; read = await reader.read())
    if (read.value.type === 'text-delta') text += read.value.delta;
  return text;
}

const sse = new DuologueSseTransport<Message>({ url });
const bidi = new DuologueTransport<Message>({ url, WebSocket });
const stockSse = new DefaultChatTransport<Message>({ api: `${url}/stream` });
const stockSocket = new WebSocketChatTransport<Message>({ url: `${url}/ws`, webSocket: WebSocket as never });
strictEqual(typeof useDuologue, 'function');
strictEqual(await turn(sse, 'over-sse'), 'Hello.');
strictEqual(await turn(bidi, 'over-bidi'), 'Hello.');
strictEqual(await turn(stockSse, 'over-stock-sse'), 'Hello.');
strictEqual(await turn(stockSocket, 'over-stock-socket'), 'Hello.');
sse.close();
bidi.close();
stockSocket.close();
await close();
console.log('one turn over each transport: ok');
