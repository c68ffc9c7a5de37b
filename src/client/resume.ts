import type { UIMessage } from 'ai';
import { isSettled, toolNameOf, waitingFor } from '../protocol/tool-call.ts';
import { type AnswerMemory, factsOf, type ToolPart, toolPartsOf } from './tool-calls.ts';

/**
 * Returns the resume rule, for `sendAutomaticallyWhen` of `useChat`. The chat sends when the last step of a message has an answer that was not sent,
 * and no other call of that step waits for the user, or for a browser tool that the transport does not run.
 *
 * @example
 * const transport = new DuologueTransport({ url: '/duologue' });
 * useChat({ transport, sendAutomaticallyWhen: resumeWhen(transport) });
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
 * Returns the parts of a message whose answers were not sent. For a message that is not the last one, these are only the calls that the
 * server is known to wait for, because old messages are full of answers that were sent before this page was loaded.
 */
export function unsentAnswers(message: UIMessage, memory: AnswerMemory, isLast: boolean): ToolPart[] {
  return callsOfLastStep(message).filter(
    (part) => (isLast || memory.isOpen(part.toolCallId)) && isUnsent(part, memory),
  );
}

/** Returns the outputs in these messages that the server waits for and that were not sent. The transport sends them before a new user message. */
export function unsentOutputs<M extends UIMessage>(
  messages: readonly M[],
  memory: AnswerMemory,
): { message: M; answers: ToolPart[] }[] {
  return messages.flatMap((message) => {
    const answers = unsentAnswers(message, memory, false).filter(({ state }) => isSettled(state));
    return answers.length === 0 ? [] : [{ message, answers }];
  });
}

/** Returns the calls after the last `step-start` part of a message, without those that the model provider runs itself. */
export function callsOfLastStep(message: UIMessage): ToolPart[] {
  if (message.role !== 'assistant') return [];
  const from = message.parts.findLastIndex((part) => part.type === 'step-start') + 1;
  return toolPartsOf(message.parts.slice(from)).filter((part) => part.providerExecuted !== true);
}

function isUnsent(part: ToolPart, memory: AnswerMemory): boolean {
  const { toolCallId, state, approval, preliminary, toolMetadata } = part;
  if (memory.isSettled(toolCallId)) return false;
  if (approval?.approved !== undefined && !memory.wasSent(toolCallId, 'decision')) return true;
  // Preliminary outputs, outcomes of denied calls and outputs of server tools come from the server, so the page does not send them.
  const hasOutput = isSettled(state) && state !== 'output-denied' && preliminary !== true;
  const isServerTool = toolMetadata !== undefined && factsOf(toolMetadata).runsOn === 'server';
  const isOwn = approval?.approved !== false && !isServerTool;
  return hasOutput && isOwn && !memory.wasSent(toolCallId, 'output');
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
