import type * as ai from 'ai';
import type { Chunk, Message } from '../../../src/protocol/index.ts';
import { streamOf } from './sdk.ts';

/** A client's chat over prepared responses: each request gets the next one. */
export interface ScriptedChat {
  chat: ai.AbstractChat<Message>;
  /** Settles when so many responses have been read to their end. */
  finished(count: number): Promise<void>;
  requests: Message[][];
}

/** The AI SDK's own chat, with its own approval helper, on a transport without a network. */
export function scriptedChat(sdk: typeof ai, responses: Chunk[][]): ScriptedChat {
  const requests: Message[][] = [];
  const waiting = new Map<number, () => void>();
  let ended = 0;
  const state: ai.ChatState<Message> = {
    status: 'ready',
    error: undefined,
    messages: [],
    pushMessage(message) {
      state.messages = [...state.messages, message];
    },
    popMessage() {
      state.messages = state.messages.slice(0, -1);
    },
    replaceMessage(index, message) {
      state.messages = state.messages.with(index, structuredClone(message));
    },
    snapshot: (thing) => structuredClone(thing),
  };
  class Chat extends sdk.AbstractChat<Message> {}
  const chat = new Chat({
    id: 'chat',
    state,
    sendAutomaticallyWhen: sdk.lastAssistantMessageIsCompleteWithApprovalResponses,
    onFinish: () => {
      ended += 1;
      waiting.get(ended)?.();
    },
    transport: {
      sendMessages: async ({ messages }) => {
        const chunks = responses[requests.length] ?? [];
        requests.push(structuredClone(messages));
        return streamOf(chunks);
      },
      reconnectToStream: async () => null,
    },
  });
  const finished = (count: number) =>
    new Promise<void>((resolve) => (ended >= count ? resolve() : waiting.set(count, resolve)));
  return { chat, finished, requests };
}
