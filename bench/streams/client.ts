import { Agent, request } from 'node:http';
import WebSocket from 'ws';
import { now } from './clock.ts';
import { Listener } from './listener.ts';
import { type Load, question } from './load.ts';
import { asAdk, asAgUi, asUi, blocksOf, type Read } from './wires.ts';

/** The transport and protocol of a server. */
export type Wire =
  | 'sse'
  | 'socket'
  | 'duologue-sse'
  | 'duologue-socket'
  | 'adk-api'
  | 'copilotkit'
  | 'ag-ui'
  | 'socket.io';

/** A connected client, ready to send a question. */
export interface Person {
  /** Sends the question; resolves when the answer is complete. */
  ask(): Promise<void>;
  listener: Listener;
  leave?(): Promise<void> | void;
}

// No keep-alive: the server may close an idle connection at the moment it is reused.
const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });

/** Prepares that many clients of a server. The setup happens here and is not measured. */
export function gather(wire: Wire, port: number, load: Load, run: string): Promise<Person[]> {
  return Promise.all(
    Array.from({ length: load.streams }, (_, stream) => {
      const asked = { port, id: `${run}-${stream}`, question: question(stream, load) };
      return person(wire, asked, new Listener(load));
    }),
  );
}

export interface Asked {
  port: number;
  id: string;
  question: string;
}

async function person(wire: Wire, asked: Asked, listener: Listener): Promise<Person> {
  const { port, id, question: text } = asked;
  const messages = [{ id: `q-${id}`, role: 'user', parts: [{ type: 'text', text }] }];
  switch (wire) {
    case 'sse':
      return { listener, ask: () => post(port, '/stream', { id, messages }, listener, asUi) };
    case 'duologue-sse':
      return {
        listener,
        ask: () => post(port, '/stream', { id, messages }, listener, asUi),
        leave: () => send(port, 'DELETE', `/sessions/${id}`),
      };
    case 'ag-ui':
      return { listener, ask: () => post(port, '/stream', { id, messages }, listener, asAgUi) };
    case 'copilotkit': {
      const body = {
        threadId: id,
        runId: `run-${id}`,
        state: {},
        messages: [{ id: `q-${id}`, role: 'user', content: text }],
        tools: [],
        context: [],
        forwardedProps: {},
      };
      return { listener, ask: () => post(port, '/agent/default/run', body, listener, asAgUi) };
    }
    case 'adk-api': {
      const session = `/apps/bench/users/live_user/sessions/${id}`;
      await send(port, 'POST', session, {});
      const newMessage = { role: 'user', parts: [{ text }] };
      const body = { appName: 'bench', userId: 'live_user', sessionId: id, newMessage, streaming: true };
      return {
        listener,
        ask: () => post(port, '/run_sse', body, listener, asAdk),
        leave: () => send(port, 'DELETE', session),
      };
    }
    case 'socket':
      return onSocket(listener, `ws://127.0.0.1:${port}`, JSON.stringify({ id, question: text }));
    case 'duologue-socket': {
      const frame = JSON.stringify({ type: 'message', version: '1.0', data: { messages } });
      const socket = await onSocket(
        listener,
        `ws://127.0.0.1:${port}/live?session=${id}`,
        frame,
        'duologue.v1',
      );
      return {
        ...socket,
        async leave() {
          await socket.leave?.();
          await send(port, 'DELETE', `/sessions/${id}`);
        },
      };
    }
    case 'socket.io': {
      // Imported here because its package exists only when the compared libraries are installed.
      const peer = await import(new URL('./peers/socket-io-person.ts', import.meta.url).href);
      return peer.person(asked, listener);
    }
  }
}

/** Posts a question and reads the stream to its end. */
function post(port: number, path: string, body: unknown, listener: Listener, read: Read): Promise<void> {
  return new Promise((resolve, reject) => {
    listener.askedAt = now();
    const options = { port, path, host: '127.0.0.1', method: 'POST', agent, headers: JSON_TYPE };
    const sent = request(options, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${path} answered ${response.statusCode}.`));
      const blocks = blocksOf((chunk) => listener.hear(read(chunk)));
      response.setEncoding('utf8');
      response.on('data', (piece: string) => attempt(() => blocks(piece), reject));
      response.on('end', resolve);
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}

const JSON_TYPE = { 'content-type': 'application/json', accept: 'text/event-stream' };

/** A request whose answer does not matter. */
function send(port: number, method: string, path: string, body?: unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { port, path, host: '127.0.0.1', method, agent, headers: JSON_TYPE };
    const sent = request(options, (response) => {
      response.resume();
      response.on('end', resolve);
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function onSocket(listener: Listener, url: string, frame: string, protocol?: string): Promise<Person> {
  const socket = new WebSocket(url, protocol, { perMessageDeflate: false });
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  return {
    listener,
    ask: () =>
      new Promise((resolve, reject) => {
        const blocks = blocksOf((chunk) => {
          listener.hear(asUi(chunk));
          // Over a socket, a turn with a pending approval has no final chunk: the approval request is the end.
          if (listener.hasCard) resolve();
        });
        socket.on('message', (data) => attempt(() => blocks(String(data)), reject));
        socket.on('close', () => reject(new Error('The socket was closed.')));
        listener.askedAt = now();
        socket.send(frame);
      }),
    leave: () =>
      new Promise((resolve) => {
        socket.once('close', () => resolve());
        socket.close();
      }),
  };
}

function attempt(work: () => void, fail: (error: unknown) => void): void {
  try {
    work();
  } catch (error) {
    fail(error);
  }
}
