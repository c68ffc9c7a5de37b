import { type UseChatHelpers, useChat } from '@ai-sdk/react';
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import type { ExecutorOption } from '../client/executors.ts';
import type { Message, Question, TokenUsage, ToolRecord } from '../protocol/chunks.ts';
import type { DataSchemas } from '../protocol/own-data.ts';
import { Conversation } from './conversation.ts';
import {
  type PendingApproval,
  type PendingQuestion,
  pendingApprovals,
  pendingQuestions,
  totalUsage,
} from './messages.ts';
import type { ConversationOptions, ConversationState, TransientData } from './options.ts';

/** Any JSON value. */
type Json = NonNullable<Question['payload']> | null;

/** Options of `useDuologue`. With the type parameter `typeof tools`, `tools` must have a function for each tool that runs in the browser. */
export type UseDuologueOptions<
  TOOLS extends ToolRecord = ToolRecord,
  SCHEMAS extends DataSchemas = DataSchemas,
  METADATA = unknown,
> = Omit<ConversationOptions, 'sessionId' | 'tools' | 'messages' | 'onData' | 'onFinish'> &
  ExecutorOption<'tools', Message<TOOLS>> & {
    /** The id of the session to continue. Without an id, a new session starts. */
    sessionId?: string | undefined;
    /** The messages of the session, if the page has them already. Without this option, the messages are loaded from the server. */
    messages?: Message<TOOLS, SCHEMAS, METADATA>[] | undefined;
    /** Gets data that is in no message: the transient data of the protocol, and the transient data that tools send. */
    onData?: ((data: TransientData<SCHEMAS>) => void) | undefined;
    onFinish?:
      | ((result: {
          message: Message<TOOLS, SCHEMAS, METADATA>;
          messages: Message<TOOLS, SCHEMAS, METADATA>[];
        }) => void)
      | undefined;
  };

/** The result of `useDuologue`: everything that `useChat` returns, and more for approvals, questions, the connection and the session. */
export interface UseDuologueHelpers<
  TOOLS extends ToolRecord = ToolRecord,
  SCHEMAS extends DataSchemas = DataSchemas,
  METADATA = unknown,
> extends UseChatHelpers<Message<TOOLS, SCHEMAS, METADATA>> {
  /** The current mode. A change of the option `mode` takes effect when no response is being read. */
  mode: ConversationState['mode'];
  /** The state of the connection. */
  connection: ConversationState['connection'];
  /** The transport of the current mode. `useVoice` sends and receives sound over it. */
  live: Conversation['live'];
  /** The session, and the `status` of its messages: `loading`, `ready` or `failed`. */
  session: {
    id: string;
    reload(): Promise<void>;
    /** Whether the server has messages before the first one of `messages`: a long conversation is read in pages, newest first. */
    hasOlder: boolean;
    /** Reads the page of messages before the first one of `messages`, and adds these messages at the start of `messages`. */
    loadOlder(): Promise<void>;
  } & ConversationState['history'];
  /** The decisions that the agent waits for, in order. */
  approvals: PendingApproval<TOOLS>[];
  /** Approves a call. The tool gets `payload` as `context.toolConfirmation.payload`. */
  approve(approval: PendingApproval<TOOLS>, reason?: string, payload?: Json): Promise<void>;
  deny(approval: PendingApproval<TOOLS>, reason?: string): Promise<void>;
  /** The questions that the agent waits for, in order. */
  questions: PendingQuestion[];
  /**
   * Answers a question. Resolves when the server has accepted the answer. When the answer does not fit the `schema` of the question, it rejects with
   * an error whose `code` is `answer_refused` and whose text says why. The question is then still open.
   */
  answer(question: PendingQuestion, value: Json): Promise<void>;
  /** Declines a question. The agent gets the reason instead of an answer. */
  decline(question: PendingQuestion, reason?: string): Promise<void>;
  /** Stops the agent. Its answer keeps the text so far, and open calls end. */
  interrupt(): void;
  /** Asks the agent to continue its last answer, if a length limit, a filter, an error, a stop or a crash of the server cut it. */
  continueAnswer(): Promise<void>;
  /** Connects at once, without waiting for the next attempt. It also connects in the state `taken-over`. */
  reconnect(): Promise<void>;
  /** Whether this page runs browser tools and plays sound, or another page with the same conversation does. */
  active: ConversationState['active'];
  /** The token counts of all messages that are loaded. */
  usage: TokenUsage;
}

/**
 * A conversation with a Duologue server: `useChat` with approvals, browser tools, a connection and a stored session.
 *
 * @example
 * const { messages, sendMessage, approvals, approve } = useDuologue({ url: '/duologue', mode: 'bidi' });
 *
 * @example
 * import type { data, tools } from './server/tools.ts';
 * const { messages, approvals } = useDuologue<typeof tools, typeof data>({ url: '/duologue', mode: 'bidi', tools: { get_location } });
 */
export function useDuologue<
  TOOLS extends ToolRecord = ToolRecord,
  SCHEMAS extends DataSchemas = DataSchemas,
  METADATA = unknown,
>(options: UseDuologueOptions<TOOLS, SCHEMAS, METADATA>): UseDuologueHelpers<TOOLS, SCHEMAS, METADATA> {
  const helpers: UseDuologueHelpers = useUntyped(options as unknown as UseDuologueOptions);
  // The type parameters exist only at compile time, so a cast is enough.
  return helpers as unknown as UseDuologueHelpers<TOOLS, SCHEMAS, METADATA>;
}

function useUntyped(options: UseDuologueOptions): UseDuologueHelpers {
  const [ownId] = useState(() => `chat_${crypto.randomUUID()}`);
  const full = withSession(options, ownId);
  const conversation = useConversation(full);
  useEffect(() => conversation.start(), [conversation]);
  useEffect(() => conversation.update(full));

  const chat = useChat<Message>({ chat: conversation.chat });
  const { status, messages } = chat;
  // After a response has ended, the chat still processes its last chunks. It has processed them when its status is `ready` or `error`.
  useEffect(() => {
    if (status === 'ready' || status === 'error') conversation.chatSettled();
  }, [conversation, status]);

  const state = useSyncExternalStore(
    conversation.subscribe,
    () => conversation.state,
    () => conversation.state,
  );
  const approvals = useMemo(() => pendingApprovals(messages), [messages]);
  const questions = useMemo(() => pendingQuestions(messages), [messages]);
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
      approve: (approval: PendingApproval, reason?: string, payload?: Json) =>
        conversation.decide(approval, true, reason, payload),
      deny: (approval: PendingApproval, reason?: string) => conversation.decide(approval, false, reason),
      answer: (question: PendingQuestion, output: Json) => conversation.answer(question, { output }),
      decline: (question: PendingQuestion, errorText = '') => conversation.answer(question, { errorText }),
      interrupt: () => conversation.interrupt(),
      continueAnswer: () => conversation.continueAnswer(),
      reconnect: () => conversation.reconnect(),
    }),
    [conversation],
  );
  const { mode, connection, active } = state;
  const { live } = conversation;
  return { ...chat, ...actions, mode, connection, live, session, approvals, questions, active, usage };
}

/** Adds the session id. Without a given id the page creates a new session, which has no messages to load from the server. */
function withSession(options: UseDuologueOptions, ownId: string): ConversationOptions {
  const { sessionId } = options;
  if (sessionId !== undefined) return { ...options, sessionId };
  return { ...options, sessionId: ownId, messages: options.messages ?? [] };
}

/** Returns the conversation for `sessionId` on the server at `url`. When either changes, a new `Conversation` replaces the previous one. */
function useConversation(options: ConversationOptions): Conversation {
  const { url, sessionId } = options;
  const create = () => ({ url, sessionId, conversation: new Conversation(options) });
  const [held, hold] = useState(create);
  if (held.url === url && held.sessionId === sessionId) return held.conversation;
  const next = create();
  hold(next);
  return next.conversation;
}
