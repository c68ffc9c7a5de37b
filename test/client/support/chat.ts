import type * as ai from 'ai';
import type { Message } from '../../../src/protocol/index.ts';
import type { Sdk } from '../../support/sdks.ts';

/** A chat of the SDK without a user interface. */
export type TestChat = ai.AbstractChat<Message>;

/** Makes a chat of that SDK. */
export function chatOf(sdk: Sdk, init: ai.ChatInit<Message>): TestChat {
  class Chat extends sdk.AbstractChat<Message> {}
  let count = 0;
  const { messages = [], ...rest } = init;
  const state: ai.ChatState<Message> & Record<string, unknown> = {
    status: 'ready',
    error: undefined,
    messages,
    pushMessage(message) {
      state.messages = [...state.messages, message];
    },
    popMessage() {
      state.messages = state.messages.slice(0, -1);
    },
    replaceMessage(index, message) {
      state.messages = state.messages.map((old, at) => (at === index ? structuredClone(message) : old));
    },
    snapshot: (value) => structuredClone(value),
  };
  return new Chat({ id: 'chat-1', generateId: () => `id-${++count}`, ...rest, state });
}

/** A message in short: text by its words, calls by name, state and what they carry. Where its steps begin is left out. */
export function brief(message: Message | undefined): unknown[] {
  const parts = (message?.parts ?? []).filter(({ type }) => type !== 'step-start');
  return parts.map((part) => {
    if (part.type === 'text' || part.type === 'reasoning') return part.text;
    if (!('toolCallId' in part)) return part.type;
    const { toolCallId, state, output, errorText, approval } = part as Record<string, unknown>;
    const decision = (approval as { approved?: boolean } | undefined)?.approved;
    return [
      toolCallId,
      state,
      ...(decision === undefined ? [] : [decision]),
      ...(output === undefined ? [] : [output]),
      ...(errorText === undefined ? [] : [errorText]),
    ];
  });
}
