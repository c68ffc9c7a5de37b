import { useChat } from '@ai-sdk/react';
import {
  type AssistantRuntime,
  AssistantRuntimeProvider,
  type ToolCallMessagePart,
} from '@assistant-ui/react';
import { useAISDKRuntime } from '@assistant-ui/react-ai-sdk';
import type { ChatInit } from 'ai';
import { createRoot } from 'react-dom/client';
import type { Message } from '../../../src/protocol/index.ts';
import { turns } from '../../server/support/turns.ts';
import type { ScenarioChat } from './client-scenarios.ts';

type Chat = ReturnType<typeof useChat<Message>>;

/**
 * A page with the AI SDK runtime of assistant-ui. The user writes, decides and stops through the runtime, as the components of assistant-ui do; `resumeStream()`
 * and what the page shows are those of `useChat`.
 */
export async function assistantUiChat(init: ChatInit<Message>): Promise<ScenarioChat & { close(): void }> {
  const shown: { chat?: Chat; runtime?: AssistantRuntime } = {};
  function Page() {
    const chat = useChat<Message>({ id: 'chat-1', ...init });
    const runtime = useAISDKRuntime(chat as never);
    Object.assign(shown, { chat, runtime });
    return <AssistantRuntimeProvider runtime={runtime}>{chat.status}</AssistantRuntimeProvider>;
  }
  const root = createRoot(document.createElement('div'));
  root.render(<Page />);
  await turns(() => shown.chat !== undefined);
  const page = (): { chat: Chat; thread: AssistantRuntime['thread'] } => {
    const { chat, runtime } = shown;
    if (!chat || !runtime) throw new Error('The page is not rendered.');
    return { chat, thread: runtime.thread };
  };
  /** The runtime of a call in the last message, as soon as the components show it. */
  const partOf = async (isIt: (part: ToolCallMessagePart) => boolean) => {
    const find = () => {
      const { thread } = page();
      const message = thread.getMessageByIndex(thread.getState().messages.length - 1);
      const call = message.getState().content.find((part) => part.type === 'tool-call' && isIt(part));
      return call?.type === 'tool-call' ? message.getMessagePartByToolCallId(call.toolCallId) : undefined;
    };
    await turns(() => find() !== undefined);
    const part = find();
    if (!part) throw new Error('The page does not show the call.');
    return part;
  };
  return {
    get messages() {
      return page().chat.messages;
    },
    get status() {
      return page().chat.status;
    },
    async sendMessage(message) {
      if (!message || !('text' in message)) return page().chat.sendMessage();
      page().thread.append(message.text);
      await turns(() => page().chat.status !== 'ready');
      await turns(() => page().chat.status === 'ready' || page().chat.status === 'error');
    },
    async addToolApprovalResponse({ id, approved }) {
      const part = await partOf(({ approval }) => approval?.id === id && approval.approved === undefined);
      await part.respondToToolApproval({ approved });
    },
    async addToolOutput(given) {
      const { toolCallId, output } = given as { toolCallId: string; output: unknown };
      const part = await partOf((one) => one.toolCallId === toolCallId);
      part.addToolResult(output);
    },
    resumeStream: () => page().chat.resumeStream(),
    async stop() {
      page().thread.cancelRun();
    },
    close: () => root.unmount(),
  };
}
