import { type UseChatHelpers, useChat } from '@ai-sdk/react';
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import type { Message, TokenUsage } from '../protocol/chunks.ts';
import { type PendingApproval, pendingApprovals } from './approvals.ts';
import { Conversation } from './conversation.ts';
import type { ConversationOptions, ConversationState } from './options.ts';
import { totalUsage } from './usage.ts';

/** Options of `useDuologue`. */
export interface UseDuologueOptions extends Omit<ConversationOptions, 'sessionId'> {
  /** The session to go on with; without one a new session begins. */
  sessionId?: string | undefined;
}

/** What `useChat` returns, and what a conversation with approvals needs beside it. */
export interface UseDuologueHelpers extends UseChatHelpers<Message> {
  /** The mode in force: a change waits for the end of the response that is being read. */
  mode: ConversationState['mode'];
  connection: ConversationState['connection'];
  /** The transport of the live mode: what `useVoice` speaks and hears through. */
  live: Conversation['live'];
  session: {
    id: string;
    reload(): Promise<void>;
    /** Whether the server has messages before the first one of `messages`: a long conversation is read in pages, newest first. */
    hasOlder: boolean;
    /** Reads the page of messages before the first one, and puts them before it. */
    loadOlder(): Promise<void>;
  } & ConversationState['history'];
  /** The decisions that the agent waits for, in order. */
  approvals: PendingApproval[];
  approve(approval: PendingApproval, reason?: string): Promise<void>;
  deny(approval: PendingApproval, reason?: string): Promise<void>;
  /** Stops the agent and lets the server end the answer. */
  interrupt(): void;
  /** Lets the agent continue its last answer, which was cut: by its length, a filter, an error, a stop or a crash of the server. */
  continueAnswer(): Promise<void>;
  /** Connects at once; takes the conversation back from another page. */
  reconnect(): Promise<void>;
  /** Who runs browser tools and hears sound: this page, or another that shows the same conversation. */
  floor: ConversationState['floor'];
  /** The tokens of all messages that are loaded. */
  usage: TokenUsage;
}

/** A conversation with a Duologue server: `useChat` with approvals, browser tools, a connection and a stored session. */
export function useDuologue(options: UseDuologueOptions): UseDuologueHelpers {
  const [ownId] = useState(() => `chat_${crypto.randomUUID()}`);
  const full = withSession(options, ownId);
  const conversation = useConversation(full);
  useEffect(() => conversation.start(), [conversation]);
  useEffect(() => conversation.update(full));

  const chat = useChat<Message>({ chat: conversation.chat });
  const { status, messages } = chat;
  // Chunks of the response that just ended are worked on until the chat has come to rest.
  useEffect(() => {
    if (status === 'ready' || status === 'error') conversation.chatSettled();
  }, [conversation, status]);

  const state = useSyncExternalStore(
    conversation.subscribe,
    () => conversation.state,
    () => conversation.state,
  );
  const approvals = useMemo(() => pendingApprovals(messages), [messages]);
  const usage = useMemo(() => totalUsage(messages), [messages]);
  const session = useMemo(
    () => ({
      id: conversation.chat.id,
      reload: () => conversation.reload(),
      hasOlder: state.hasOlder,
      loadOlder: () => conversation.loadOlder(),
      ...state.history,
    }),
    [conversation, state.history, state.hasOlder],
  );
  const actions = useMemo(
    () => ({
      approve: (approval: PendingApproval, reason?: string) => conversation.decide(approval, true, reason),
      deny: (approval: PendingApproval, reason?: string) => conversation.decide(approval, false, reason),
      interrupt: () => conversation.interrupt(),
      continueAnswer: () => conversation.continueAnswer(),
      reconnect: () => conversation.reconnect(),
    }),
    [conversation],
  );
  const { mode, connection, floor } = state;
  const { live } = conversation;
  return { ...chat, ...actions, mode, connection, live, session, approvals, floor, usage };
}

/** A session that is made here has no past to ask the server for. */
function withSession(options: UseDuologueOptions, ownId: string): ConversationOptions {
  const { sessionId } = options;
  if (sessionId !== undefined) return { ...options, sessionId };
  return { ...options, sessionId: ownId, messages: options.messages ?? [] };
}

/** The conversation of this session and server; another session or server is another conversation. */
function useConversation(options: ConversationOptions): Conversation {
  const { url, sessionId } = options;
  const begin = () => ({ url, sessionId, conversation: new Conversation(options) });
  const [held, hold] = useState(begin);
  if (held.url === url && held.sessionId === sessionId) return held.conversation;
  const next = begin();
  hold(next);
  return next.conversation;
}
