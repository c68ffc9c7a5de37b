import type { UIMessage } from 'ai';
import { isSettled, toolNameOf, waitingFor } from '../protocol/tool-call.ts';
import { factsOf, type ToolPart, toolPartsOf } from './parts.ts';

/** The two kinds of answer: what the person decides, what the browser returns. */
export type AnswerKind = 'decision' | 'output';

/** What a transport remembers of the calls it carried. */
export interface AnswerMemory {
  /** Whether that answer to the call left for the server. */
  wasSent(toolCallId: string, kind: AnswerKind): boolean;
  /** Whether the server said how the call ended. */
  isSettled(toolCallId: string): boolean;
  /** Whether the server announced the call and has not said how it ended. */
  isOpen(toolCallId: string): boolean;
  /** Whether the transport runs that tool itself and sends its output. */
  runs(toolName: string): boolean;
}

/**
 * The resume rule for `sendAutomaticallyWhen`: sends exactly when an answer is there that was not sent, and nothing
 * beside it still waits for the person or the browser.
 */
export function resumeWhen(transport: {
  readonly memory: AnswerMemory;
}): (options: { messages: UIMessage[] }) => boolean {
  return ({ messages }) => shouldResume(messages, transport.memory);
}

/** Whether the answers in these messages should be sent now. */
export function shouldResume(messages: readonly UIMessage[], memory: AnswerMemory): boolean {
  return messages.some((message, index) => {
    const isLast = index === messages.length - 1;
    return (
      unsentAnswers(message, memory, isLast).length > 0 &&
      !callsOfLastStep(message).some((part) => isWaiting(part, memory))
    );
  });
}

/**
 * The parts of a message whose answers were not sent. In an earlier message only calls that the server is known to wait
 * for count: the history is full of old answers.
 */
export function unsentAnswers(message: UIMessage, memory: AnswerMemory, isLast: boolean): ToolPart[] {
  return callsOfLastStep(message).filter(
    (part) => (isLast || memory.isOpen(part.toolCallId)) && isUnsent(part, memory),
  );
}

/** The outputs in these messages that were not sent and that the server waits for: nothing said later may overtake them. */
export function unsentOutputs<M extends UIMessage>(
  messages: readonly M[],
  memory: AnswerMemory,
): { message: M; answers: ToolPart[] }[] {
  return messages.flatMap((message) => {
    const answers = unsentAnswers(message, memory, false).filter(({ state }) => isSettled(state));
    return answers.length === 0 ? [] : [{ message, answers }];
  });
}

/** The calls after the last step boundary that are not the provider's own. */
export function callsOfLastStep(message: UIMessage): ToolPart[] {
  if (message.role !== 'assistant') return [];
  const from = message.parts.findLastIndex((part) => part.type === 'step-start') + 1;
  return toolPartsOf(message.parts.slice(from)).filter((part) => part.providerExecuted !== true);
}

function isUnsent(part: ToolPart, memory: AnswerMemory): boolean {
  const { toolCallId, state, approval, preliminary } = part;
  if (memory.isSettled(toolCallId)) return false;
  if (approval?.approved !== undefined && !memory.wasSent(toolCallId, 'decision')) return true;
  // What is not yet final, what follows a denial, and what a server tool gave are the server's own.
  const hasOutput = isSettled(state) && state !== 'output-denied' && preliminary !== true;
  const isOwn = approval?.approved !== false && !isServerTool(part);
  return hasOutput && isOwn && !memory.wasSent(toolCallId, 'output');
}

function isServerTool({ toolMetadata }: ToolPart): boolean {
  return toolMetadata !== undefined && factsOf(toolMetadata).runsOn === 'server';
}

function isWaiting(part: ToolPart, memory: AnswerMemory): boolean {
  const { toolCallId, state, approval } = part;
  if (memory.isSettled(toolCallId)) return false;
  const facts = factsOf(part.toolMetadata, approval !== undefined);
  const who = waitingFor({ ...facts, state, approved: approval?.approved });
  if (who === 'person') return !memory.wasSent(toolCallId, 'decision');
  if (who !== 'client' || facts.optimistic) return false;
  return !memory.wasSent(toolCallId, 'output') && !memory.runs(String(toolNameOf(part)));
}
