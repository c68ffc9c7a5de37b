import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type WebSocket, WebSocketServer } from 'ws';
import { webApp } from '../../demo/server/web.ts';
import { type Chunk, DONE, encodeBlock } from '../../src/protocol/index.ts';

/** The server gathers what comes within this time into one write. */
const WINDOW_MS = 12;
const WORDS =
  'the agent asks before it acts and says what it did in plain words so that people can follow it'.split(' ');

/** Markdown of so many words, one a piece: headings, paragraphs, emphasis, lists and code, over and over. */
function markdownPieces(words: number): string[] {
  return Array.from({ length: words }, (_, index) => {
    const word = WORDS[index % WORDS.length] ?? '';
    const place = index % 160;
    if (place === 0) return `\n\n## Part ${index / 160 + 1}\n\n${word} `;
    if (place === 80 || place === 90 || place === 100) return `\n- ${word} `;
    if (place === 110) return `\n\n\`\`\`ts\nconst ${word} = ${index};\n`;
    if (place === 120) return `\n\`\`\`\n\n${word} `;
    if (place % 40 === 0) return `\n\n${word} `;
    return place % 17 === 0 ? `**${word}** ` : `${word} `;
  });
}

interface Asked {
  messages: { parts: { text: string }[] }[];
  requestId?: string;
}

/** Serves the page, and answers "<words> <milliseconds>" with that many deltas within that time, over HTTP and over a socket. */
export class Source {
  private newest = 0;
  private readonly files: ReturnType<typeof webApp>;
  private readonly server = createServer((request, response) => void this.answer(request, response));
  private readonly sockets = new WebSocketServer({
    server: this.server,
    path: '/live',
    perMessageDeflate: false,
  });

  constructor(folder: string) {
    this.files = webApp(folder);
    this.sockets.on('connection', (socket) => this.greet(socket));
  }

  async start(): Promise<string> {
    this.server.listen(0, 'localhost');
    await once(this.server, 'listening');
    return `http://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
    for (const socket of this.sockets.clients) socket.terminate();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') return this.files(request, response);
    let body = '';
    for await (const piece of request) body += String(piece);
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-vercel-ai-ui-message-stream': 'v1' });
    await this.speak(JSON.parse(body), (text) => response.write(text));
    response.end();
  }

  private greet(socket: WebSocket): void {
    const data = {
      sessionId: 'bench',
      connectionId: 'bench',
      epoch: 'bench',
      resumed: false,
      newest: 'bench-0',
      received: [],
      open: [],
      running: null,
      model: { hears: false, sees: false, speaks: false },
      floor: null,
    };
    socket.send(encodeBlock({ type: 'data-session', data, transient: true }));
    socket.on('message', (raw) => {
      const frame = JSON.parse(String(raw));
      if (frame.type === 'message') void this.speak(frame.data, (text) => socket.send(text));
    });
  }

  /** Accepts a request that has a name, and says the answer in the time that was asked for. */
  private async speak({ messages, requestId }: Asked, write: (text: string) => void): Promise<void> {
    const [words = 0, ms = 0] = (messages.at(-1)?.parts[0]?.text ?? '').split(' ').map(Number);
    const pieces = markdownPieces(words);
    const messageId = `answer-${randomUUID()}`;
    const block = (chunk: Chunk) => encodeBlock(chunk, `bench-${++this.newest}`);
    if (requestId !== undefined)
      write(encodeBlock({ type: 'data-accepted', data: { requestId, messageId }, transient: true }));
    write(block({ type: 'start', messageId }) + block({ type: 'text-start', id: '0' }));
    const began = performance.now();
    for (let sent = 0; sent < pieces.length; ) {
      await sleep(WINDOW_MS);
      const due = Math.min(pieces.length, Math.ceil(((performance.now() - began) / ms) * pieces.length));
      const gathered = pieces.slice(sent, due).map((delta) => block({ type: 'text-delta', id: '0', delta }));
      sent = due;
      write(gathered.join(''));
    }
    write(block({ type: 'text-end', id: '0' }) + block({ type: 'finish', finishReason: 'stop' }) + DONE);
  }
}
