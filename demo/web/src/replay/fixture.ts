import { BlockDecoder, type Chunk, encodeFrame, type Message } from 'duologue/protocol';
import type { WireFact } from '../wire/recorder.ts';
import type { Recording } from '../wire/recording.ts';
import type { WireEvent } from '../wire/wire-event.ts';

/** A fixture of the protocol: the messages of the user, and every block that the server sent. */
export interface Fixture {
  mode: 'sse' | 'bidi';
  input: { messages: { id?: string; role: string; content?: string; parts?: Message['parts'] }[] };
  output: { rawEvents: string[] };
}

/** The time between two events of the recording, because a fixture has no times. */
const STEP_MS = 40;
const SESSION = 'fixture';

type OpenCall = {
  toolCallId: string;
  toolName: string;
  input: unknown;
  runsOn: string;
  approvalId: string | null;
};

/** Whether a value is a fixture, by its shape. */
export function isFixture(value: Record<string, unknown>): boolean {
  const input = value.input as { messages?: unknown } | undefined;
  const output = value.output as { rawEvents?: unknown } | undefined;
  return (
    (value.mode === 'sse' || value.mode === 'bidi') &&
    Array.isArray(input?.messages) &&
    Array.isArray(output?.rawEvents)
  );
}

/** Converts a fixture to a recording. A fixture lacks the user's answers, so they are derived from the outputs of the calls. */
export function recordingOfFixture({ mode, input, output }: Fixture): Recording {
  const blocks = output.rawEvents.map((text) => ({ text, chunk: chunkIn(text) }));
  const facts =
    mode === 'sse' ? overHttp(userMessage(input), blocks) : overSocket(userMessage(input), blocks);
  return {
    format: 'duologue-recording',
    version: 1,
    mode,
    sessionId: SESSION,
    recordedAt: '',
    isCut: false,
    events: facts.map((fact, index) => ({ ...fact, at: index * STEP_MS }) as WireEvent),
    messages: [],
  };
}

interface Block {
  text: string;
  /** Null for `[DONE]`. */
  chunk: Chunk | null;
}

function overHttp(message: Message, blocks: readonly Block[]): WireFact[] {
  const facts: WireFact[] = [];
  const calls = new Calls();
  let texts: object = { id: SESSION, messages: [message], trigger: 'submit-message' };
  let channel = 0;
  let rest = blocks;
  while (rest.length > 0) {
    const end = rest.findIndex(({ chunk }) => chunk === null);
    const response = end === -1 ? rest : rest.slice(0, end + 1);
    rest = rest.slice(response.length);
    channel++;
    facts.push(
      { channel, type: 'request', method: 'POST', path: '/stream', body: JSON.stringify(texts) },
      { channel, type: 'response', status: 200, contentType: 'text/event-stream; charset=utf-8' },
    );
    for (const { text, chunk } of response) {
      if (chunk) calls.push(chunk);
      facts.push({ channel, type: 'text', direction: 'in', text });
    }
    const parts = calls.open.flatMap((call) => partsOf(call, outputOf(call.toolCallId, rest)));
    texts = {
      id: SESSION,
      messages: [{ id: calls.messageId, role: 'assistant', parts }],
      trigger: 'submit-message',
    };
  }
  return facts;
}

function overSocket(message: Message, blocks: readonly Block[]): WireFact[] {
  const channel = 1;
  const out = (text: string): WireFact => ({ channel, type: 'text', direction: 'out', text });
  const facts: WireFact[] = [{ channel, type: 'open', path: '/live' }];
  const greeting = { sessionId: SESSION, connectionId: 'fixture', epoch: 'fixture', resumed: false };
  if (!blocks.some(({ chunk }) => chunk?.type === 'data-session')) {
    const text = JSON.stringify({ type: 'data-session', data: greeting, transient: true });
    facts.push({ channel, type: 'text', direction: 'in', text: `data: ${text}\n\n` });
  }
  facts.push(out(encodeFrame('message', { messages: [message], trigger: 'submit-message' } as never)));
  const calls = new Calls();
  for (const block of blocks) {
    const id = endedBy(block.chunk);
    const call = calls.open.find(({ toolCallId }) => toolCallId === id);
    if (call && id !== null) {
      for (const data of framesOf(call, block.chunk))
        facts.push(out(encodeFrame('tool_result', data as never)));
    }
    if (block.chunk) calls.push(block.chunk);
    facts.push({ channel, type: 'text', direction: 'in', text: block.text });
  }
  return facts;
}

/** The calls that wait for the user or the browser. */
class Calls {
  open: OpenCall[] = [];
  messageId = '';

  push(chunk: Chunk): void {
    if (chunk.type === 'start') this.messageId = chunk.messageId ?? this.messageId;
    const id = endedBy(chunk);
    this.open = this.open.filter(({ toolCallId }) => toolCallId !== id);
    if (chunk.type === 'tool-input-available') {
      const { toolCallId, toolName, input } = chunk;
      const { runsOn = 'server', asks = false } = (chunk.toolMetadata ?? {}) as {
        runsOn?: string;
        asks?: boolean;
      };
      if (runsOn === 'client' || asks)
        this.open.push({ toolCallId, toolName, input, runsOn, approvalId: null });
    }
    if (chunk.type === 'tool-approval-request') {
      const call = this.open.find(({ toolCallId }) => toolCallId === chunk.toolCallId);
      if (call) call.approvalId = chunk.approvalId;
    }
  }
}

/** The parts that the page posts for a call, derived from the chunk that ended the call; none when no chunk ended it. */
function partsOf(call: OpenCall, end: Chunk | null): object[] {
  const { toolCallId, toolName, input, runsOn, approvalId } = call;
  if (!end) return [];
  const type = `tool-${toolName}`;
  const approved = end.type === 'tool-output-available' || !isDenial(end);
  const approval = approvalId === null ? {} : { approval: { id: approvalId, approved, ...reasonIn(end) } };
  if (runsOn === 'client' && end.type === 'tool-output-available') {
    return [{ type, toolCallId, input, state: 'output-available', output: end.output, ...approval }];
  }
  return approvalId === null ? [] : [{ type, toolCallId, input, state: 'approval-responded', ...approval }];
}

/** The frames that the page sends for a call, derived from the chunk that ended the call; none for a call that timed out. */
function framesOf(call: OpenCall, end: Chunk | null): object[] {
  const { toolCallId, runsOn, approvalId } = call;
  if (!end || (end.type === 'tool-output-error' && /timed out|^Timeout/.test(end.errorText))) return [];
  const approved = end.type === 'tool-output-available' || !isDenial(end);
  const status = approved ? 'approved' : 'rejected';
  const decision = approvalId === null ? [] : [{ toolCallId, status, ...reasonIn(end) }];
  if (runsOn !== 'client' || end.type !== 'tool-output-available') return decision;
  return [...decision, { toolCallId, result: end.output }];
}

function isDenial(end: Chunk): boolean {
  return (
    end.type === 'tool-output-denied' ||
    (end.type === 'tool-output-error' && /^User denied/.test(end.errorText))
  );
}

function reasonIn(end: Chunk): { reason?: string } {
  const match =
    end.type === 'tool-output-error' ? /^User denied the tool call: ([\s\S]+)/.exec(end.errorText) : null;
  return match?.[1] === undefined ? {} : { reason: match[1] };
}

function outputOf(toolCallId: string, blocks: readonly Block[]): Chunk | null {
  return blocks.find(({ chunk }) => endedBy(chunk) === toolCallId)?.chunk ?? null;
}

function endedBy(chunk: Chunk | null): string | null {
  switch (chunk?.type) {
    case 'tool-output-available':
    case 'tool-output-error':
    case 'tool-output-denied':
      return chunk.toolCallId;
    default:
      return null;
  }
}

function chunkIn(text: string): Chunk | null {
  const [block] = new BlockDecoder().push(text);
  return !block || block.data === '[DONE]' ? null : (JSON.parse(block.data) as Chunk);
}

function userMessage({ messages }: Fixture['input']): Message {
  const last = messages.findLast(({ role }) => role === 'user');
  const parts = last?.parts ?? [{ type: 'text' as const, text: last?.content ?? '' }];
  return { id: last?.id ?? 'msg-1', role: 'user', parts };
}
