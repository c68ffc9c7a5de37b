import { onTestFinished } from 'vitest';
import type { Chunk, Message } from '../../../src/protocol/index.ts';
import { type Duologue, type DuologueOptions, ServerApiError } from '../../../src/server/index.ts';
import { harness, say } from '../../support/harness.ts';
import { live } from '../../support/live.ts';
import type { TestSocket } from '../../support/socket.ts';

/** The two modes of a conversation. */
export const MODES = ['SSE', 'BIDI'] as const;
export type Mode = (typeof MODES)[number];

/** A conversation in one of the modes. Every method returns the chunks received since the previous call. */
export interface Talk {
  say(text: string): Promise<Chunk[]>;
  decide(request: Request, approved: boolean, extra?: Record<string, unknown>): Promise<Chunk[]>;
  output(call: Call, output: unknown): Promise<Chunk[]>;
  /** The browser comes back from a provider to the callback of the server. Resolves with the text of the answer that follows. */
  signIn(back: URL): Promise<string>;
  /** The application gives the output of a long-running call, once the call waits for it. Resolves with the text of the answer that follows. */
  complete(callId: string, output: unknown): Promise<string>;
  /** Resolves with the stored session, when the server has stored everything that it has sent. */
  stored(): Promise<StoredSession>;
  /** The user declines a question. */
  decline(call: Call, reason: string): Promise<Chunk[]>;
  /** Sends an output that the server refuses, and returns its error. */
  refused(call: Call, output: unknown): Promise<{ code: string; message: string }>;
}

type Request = Extract<Chunk, { type: 'tool-approval-request' }>;
type Call = Extract<Chunk, { type: 'tool-input-available' }>;

/** Opens a conversation with the agent of the options. A part of it ends with the turn, or where everything open waits for the user or the browser. */
export async function talk(mode: Mode, options: Partial<DuologueOptions>, messageId?: string): Promise<Talk> {
  return mode === 'SSE' ? posts(options, messageId) : sockets(options);
}

/** `before`: the message with the open calls, when an earlier server has sent it. */
function posts(options: Partial<DuologueOptions>, before = ''): Talk {
  const { post, get, duologue } = harness([], [], options);
  onTestFinished(() => duologue.close());
  let messageId = before;
  const send = async (body: object): Promise<Chunk[]> => {
    const { chunks, status, json } = await post(body);
    if (status !== 200) throw new Error(`${status}: ${JSON.stringify(json)}`);
    for (const chunk of chunks) if (chunk.type === 'start') messageId = chunk.messageId ?? '';
    return chunks;
  };
  const bodyWith = (part: object) => ({
    id: 'chat-1',
    messages: [{ id: messageId, role: 'assistant', parts: [part] }],
  });
  const answer = async (part: object) => {
    // A page that was loaded after a restart reads the message that asks.
    if (messageId === '') {
      const { messages } = (await (await get('/sessions/chat-1')).json()) as { messages: { id: string }[] };
      messageId = messages.at(-1)?.id ?? '';
    }
    return send(bodyWith(part));
  };
  const outputPart = ({ toolCallId, toolName, input }: Call, output: unknown) => ({
    type: `tool-${toolName}`,
    toolCallId,
    state: 'output-available',
    input,
    output,
  });
  return {
    say: (text) => send(say(text)),
    decide: ({ toolCallId, approvalId: id }, approved, extra = {}) =>
      answer({
        type: 'tool-any',
        toolCallId,
        state: 'approval-responded',
        approval: { id, approved, ...extra },
      }),
    output: (call, output) => answer(outputPart(call, output)),
    decline: ({ toolCallId, toolName, input }, errorText) =>
      answer({ type: `tool-${toolName}`, toolCallId, state: 'output-error', input, errorText }),
    async refused(call, output) {
      const { json } = await post(bodyWith(outputPart(call, output)));
      return (json as { error: { code: string; message: string } }).error;
    },
    async signIn(back) {
      await comeBack(duologue, back);
      return storedText(get);
    },
    async complete(callId, output) {
      await completeCall(duologue, callId, output);
      return storedText(get);
    },
    stored: () => readSession(get),
  };
}

async function sockets(options: Partial<DuologueOptions>): Promise<Talk> {
  const { connect, get, duologue } = await live([], [], { approvalTimeoutMs: null, ...options });
  const socket = await connect('?session=chat-1');
  let read = 0;
  const rest = async (): Promise<Chunk[]> => {
    await socket.until(() => isAtRest(socket, read), 'the end of the turn, or a pause');
    const since = socket.received.slice(read);
    read = socket.received.length;
    return since.flatMap((one) => (one.kind === 'chunk' && !isTransient(one.chunk) ? [one.chunk] : []));
  };
  return {
    say(text) {
      socket.say(text);
      return rest();
    },
    decide({ toolCallId }, approved, { reason, ...extra } = {}) {
      const status = approved ? 'approved' : 'rejected';
      socket.send('tool_result', { toolCallId, status, ...(reason ? { reason } : {}), ...extra });
      return rest();
    },
    output({ toolCallId, toolName }, result) {
      socket.send('tool_result', { toolCallId, toolName, result });
      return rest();
    },
    decline({ toolCallId, toolName }, error) {
      socket.send('tool_result', { toolCallId, toolName, error });
      return rest();
    },
    async refused({ toolCallId, toolName }, result) {
      const count = errorsIn(socket).length;
      socket.send('tool_result', { toolCallId, toolName, result });
      await socket.until(() => errorsIn(socket).length > count, 'an error');
      read = socket.received.length;
      return errorsIn(socket)[count] as { code: string; message: string };
    },
    async signIn(back) {
      await comeBack(duologue, back);
      return textOf(await rest());
    },
    async complete(callId, output) {
      await completeCall(duologue, callId, output);
      return storedText(get);
    },
    stored: () => readSession(get),
  };
}

/** A session as a page reads it. */
export interface StoredSession {
  messages: Message[];
  isRunning: boolean;
}

/** The text of the last message, when its turn has ended. */
async function storedText(get: (path: string) => Promise<Response>): Promise<string> {
  for (;;) {
    const { messages, isRunning } = await readSession(get);
    const texts = messages.at(-1)?.parts.flatMap((part) => (part.type === 'text' ? part.text : [])) ?? [];
    if (!isRunning && texts.length > 0) return texts.join('');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Completes a call. A call whose tool was just started may not wait yet. */
async function completeCall(duologue: Duologue, callId: string, output: unknown): Promise<void> {
  for (;;) {
    try {
      return await duologue.complete({ callId, output });
    } catch (error) {
      if (!(error instanceof ServerApiError) || !['not_waiting', 'unknown_call'].includes(error.code))
        throw error;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** Posts what the page of the callback posts. */
async function comeBack(duologue: Duologue, { searchParams }: URL): Promise<void> {
  const answer = await duologue.fetch(
    new Request('http://localhost/sign-in/callback', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(Object.fromEntries(searchParams)),
    }),
  );
  if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`);
}

/** A read of the session waits for all earlier writes, so its reply proves that they are stored. */
async function readSession(get: (path: string) => Promise<Response>): Promise<StoredSession> {
  return (await (await get('/sessions/chat-1')).json()) as StoredSession;
}

function errorsIn({ received }: TestSocket): { code: string; message: string }[] {
  return received.flatMap((one) =>
    one.kind === 'chunk' && one.chunk.type === 'data-error' ? [one.chunk.data] : [],
  );
}

function isTransient(chunk: Chunk): boolean {
  return 'transient' in chunk && chunk.transient === true;
}

/** Whether the turn ended, or calls wait for the user or the browser, among the chunks from an index on. */
function isAtRest({ received }: TestSocket, from: number): boolean {
  const since = received.slice(from);
  if (since.some(({ kind }) => kind === 'done')) return true;
  const chunks = since.flatMap((one) => (one.kind === 'chunk' ? [one.chunk] : []));
  // An approval request is in a step. The end of another step is no pause: more chunks follow.
  const asked = chunks.findLastIndex(({ type }) => type === 'tool-approval-request');
  if (asked !== -1 && chunks.slice(asked).some(({ type }) => type === 'finish-step')) return true;
  const handed = chunks.findLast(
    (chunk): chunk is Call =>
      chunk.type === 'tool-input-available' &&
      chunk.toolMetadata?.runsOn === 'client' &&
      !chunk.toolMetadata.asks,
  );
  return (
    handed !== undefined &&
    !chunks.some((chunk) => 'toolCallId' in chunk && chunk.toolCallId === handed.toolCallId && isEnd(chunk))
  );
}

function isEnd({ type }: Chunk): boolean {
  return type.startsWith('tool-output-');
}

/** The texts of chunks, in one. */
export function textOf(chunks: readonly Chunk[]): string {
  return chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('');
}

/** The chunk of a type; throws when there is not exactly one. */
export function the<T extends Chunk['type']>(chunks: readonly Chunk[], type: T): Extract<Chunk, { type: T }> {
  const found = chunks.filter((chunk): chunk is Extract<Chunk, { type: T }> => chunk.type === type);
  const [one] = found;
  if (!one || found.length > 1)
    throw new Error(`${found.length} chunks of ${type} in: ${chunks.map((chunk) => chunk.type).join(' ')}`);
  return one;
}
