import type { Message } from 'duologue/protocol';
import type { UseDuologueHelpers } from 'duologue/react';
import { useCallback, useEffect, useMemo, useRef } from 'react';
import type { Decide } from '../approval/decide.ts';
import type { Draft } from '../composer/draft.ts';
import type { Answering } from '../questions/answering.tsx';
import { filesOf } from './message-text.ts';

/** The actions of the user in a conversation. Their identities never change, so they cause no rendering. */
export interface Actions {
  send: (draft: Draft) => void;
  decide: Decide;
  /** Answers or declines a question of the agent. */
  questions: Answering;
  edit: (message: Message, text: string) => void;
  regenerate: (messageId: string) => void;
  retry: () => void;
  /** Continues the last message, which was cut off. */
  continueAnswer: () => void;
  /** Removes a message that the server does not have. */
  drop: (messageId: string) => void;
  /**
   * Marks the last message as failed, as the server stores it: the AI SDK does not keep the metadata of a response
   * that failed.
   */
  markFailed: () => void;
  stop: () => void;
}

/** Creates the actions of a conversation. `onShown` gets errors that the card of a question already shows. */
export function useActions(duologue: UseDuologueHelpers, onShown: (error: Error) => void): Actions {
  const latest = useRef(duologue);
  useEffect(() => {
    latest.current = duologue;
  });
  const send = useCallback(({ id, text, pictures }: Draft) => {
    const files = pictures.map(({ name, mediaType, url }) => ({
      type: 'file' as const,
      mediaType,
      url,
      filename: name,
    }));
    const words = text === '' ? [] : [{ type: 'text' as const, text }];
    void latest.current.sendMessage({ id, role: 'user', parts: [...files, ...words] });
  }, []);
  const decide = useCallback<Decide>((toolCallId, isApproved, reason, payload) => {
    const { approvals, approve, deny } = latest.current;
    const approval = approvals.find((one) => one.toolCallId === toolCallId);
    const signIn = latest.current.questions.find((one) => one.toolCallId === toolCallId);
    if (signIn && !isApproved) void latest.current.decline(signIn, reason || undefined);
    if (!approval) return;
    void (isApproved ? approve(approval, reason || undefined, payload) : deny(approval, reason || undefined));
  }, []);
  const questions = useMemo<Answering>(() => {
    const sent = (send: () => Promise<void>) =>
      send().catch((error: Error) => {
        onShown(error);
        throw error;
      });
    const find = (toolCallId: string) => {
      const question = latest.current.questions.find((one) => one.toolCallId === toolCallId);
      if (!question) throw new Error(`The question ${toolCallId} is not open.`);
      return question;
    };
    return {
      answer: (toolCallId, value) => sent(async () => latest.current.answer(find(toolCallId), value)),
      decline: (toolCallId) => sent(async () => latest.current.decline(find(toolCallId))),
    };
  }, [onShown]);
  const edit = useCallback((message: Message, text: string) => {
    const parts = [...filesOf(message), { type: 'text' as const, text }];
    void latest.current.sendMessage({ parts, messageId: message.id });
  }, []);
  const regenerate = useCallback((messageId: string) => void latest.current.regenerate({ messageId }), []);
  const retry = useCallback(() => {
    const { messages, sendMessage, regenerate: again } = latest.current;
    const last = messages.at(-1);
    if (last?.role === 'user') void sendMessage({ parts: last.parts, messageId: last.id });
    else if (last && hasUnsettledDecision(last)) void sendMessage();
    else if (last) void again({ messageId: last.id });
  }, []);
  const continueAnswer = useCallback(() => void latest.current.continueAnswer(), []);
  const drop = useCallback(
    (messageId: string) => latest.current.setMessages((all) => all.filter(({ id }) => id !== messageId)),
    [],
  );
  const markFailed = useCallback(
    () =>
      latest.current.setMessages((all) =>
        all.map((message, index) =>
          index === all.length - 1 && message.role === 'assistant'
            ? { ...message, metadata: { ...message.metadata, failed: true } }
            : message,
        ),
      ),
    [],
  );
  const stop = useCallback(() => {
    const { connection, interrupt, stop: abandon } = latest.current;
    const isReachable = connection.status === 'live' || connection.status === 'idle';
    if (isReachable) interrupt();
    else void abandon();
  }, []);
  return { send, decide, questions, edit, regenerate, retry, continueAnswer, drop, markFailed, stop };
}

/** Whether a call that the user decided has no outcome yet. */
export function hasUnsettledDecision({ parts }: Message): boolean {
  return parts.some((part) => 'toolCallId' in part && part.state === 'approval-responded');
}
