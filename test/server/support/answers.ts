import type { Chunk } from '../../../src/protocol/index.ts';
import type { Duologue } from '../../../src/server/index.ts';
import { type Posted, read } from '../../support/harness.ts';

type Part = Record<string, unknown>;

/** Something that takes posts. */
export interface Talk {
  post(body: unknown, headers?: Record<string, string>): Promise<Posted>;
}

/** An answer: it finds its call among the chunks of the response that asked. */
export type Reply = (chunks: readonly Chunk[]) => Part;

type Of<T extends Chunk['type']> = Extract<Chunk, { type: T }>;

/** The chunks of one type. */
export function only<T extends Chunk['type']>(chunks: readonly Chunk[], type: T): Of<T>[] {
  return chunks.filter((chunk): chunk is Of<T> => chunk.type === type);
}

function decide(index: number, approved: boolean, reason?: string): Reply {
  return (chunks) => {
    const request = only(chunks, 'tool-approval-request')[index];
    const input = only(chunks, 'tool-input-available').find(
      ({ toolCallId }) => toolCallId === request?.toolCallId,
    );
    if (!request || !input) throw new Error(`There is no card number ${index}.`);
    return {
      type: `tool-${input.toolName}`,
      toolCallId: input.toolCallId,
      state: 'approval-responded',
      input: input.input,
      approval: { id: request.approvalId, approved, ...(reason === undefined ? {} : { reason }) },
    };
  };
}

/** Approves the approval request with that number. */
export const approve = (index = 0, reason?: string): Reply => decide(index, true, reason);

/** Denies the approval request with that number. */
export const deny = (index = 0, reason?: string): Reply => decide(index, false, reason);

/** Gives the output of the first call of that tool. */
export function output(toolName: string, value: unknown): Reply {
  return (chunks) => {
    const input = only(chunks, 'tool-input-available').find((chunk) => chunk.toolName === toolName);
    if (!input) throw new Error(`There is no call of ${toolName}.`);
    return {
      type: `tool-${toolName}`,
      toolCallId: input.toolCallId,
      state: 'output-available',
      input: input.input,
      output: value,
    };
  };
}

/** The body that answers calls of a response. */
export function answerBody(asked: Posted, replies: Reply[], id = 'chat-1'): object {
  const [start] = only(asked.chunks, 'start');
  return {
    id,
    messages: [
      { id: start?.messageId, role: 'assistant', parts: replies.map((reply) => reply(asked.chunks)) },
    ],
    trigger: 'submit-message',
    messageId: start?.messageId,
  };
}

/** Posts answers to calls of a response. */
export function answers(to: Talk, asked: Posted, ...replies: Reply[]): Promise<Posted> {
  return to.post(answerBody(asked, replies));
}

/** Posts to a server in this process. */
export function talk(duologue: Duologue, base = 'http://localhost'): Talk {
  return {
    async post(body, headers = {}) {
      return read(
        await duologue.fetch(
          new Request(`${base}/stream`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', ...headers },
            body: typeof body === 'string' ? body : JSON.stringify(body),
          }),
        ),
      );
    },
  };
}
