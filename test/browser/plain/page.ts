import { Chat, useChat } from '@ai-sdk/react';
import {
  lastAssistantMessageIsCompleteWithApprovalResponses as approvalHelper,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithToolCalls as toolCallsHelper,
} from 'ai';
import { DuologueSseTransport, DuologueTransport, resumeWhen } from 'duologue/client';
import type { Message } from 'duologue/protocol';
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';

/** What stands in `sendAutomaticallyWhen`. */
export type Helper = 'approval' | 'tool calls' | 'both' | 'resumeWhen';

/** What carries the chat. */
export type Carrier = 'DuologueTransport' | 'DuologueSseTransport' | 'DefaultChatTransport';

/** How the page is made. */
export interface Setup {
  helper: Helper;
  carrier: Carrier;
  /** The browser tools that the transport runs itself. */
  executors: boolean;
}

/** A call as the page shows it. */
export interface Shown {
  toolCallId: string;
  state: string;
  output?: unknown;
  approval?: { id: string; approved?: boolean };
}

/** A page as anyone would write it: stock `useChat`, a transport, a helper. Tests drive it through `window.plain`. */
class PlainPage {
  sends = 0;
  warnings: string[] = [];
  private chat: Chat<Message> | null = null;
  private leave: () => void = () => undefined;

  constructor() {
    const warn = console.warn;
    console.warn = (...words) => {
      this.warnings.push(words.join(' '));
      warn(...words);
    };
  }

  /** Begins a chat; the one before is left. */
  open({ helper, carrier, executors }: Setup): void {
    this.leave();
    this.sends = 0;
    this.warnings = [];
    const tools = { get_location: () => ({ city: 'Kyoto' }), change_bgm: () => ({ playing: true }) };
    const options = { url: '/', ...(executors ? { executors: tools } : {}) };
    const ours =
      carrier === 'DuologueTransport'
        ? new DuologueTransport<Message>(options)
        : new DuologueSseTransport<Message>(options);
    const transport =
      carrier === 'DefaultChatTransport' ? new DefaultChatTransport<Message>({ api: '/stream' }) : ours;
    const { sendMessages } = transport;
    transport.sendMessages = (request) => {
      this.sends++;
      return sendMessages.call(transport, request);
    };
    const helpers = {
      approval: approvalHelper,
      'tool calls': toolCallsHelper,
      both: (now: { messages: Message[] }) => approvalHelper(now) || toolCallsHelper(now),
      resumeWhen: resumeWhen(ours),
    };
    const chat = new Chat<Message>({ transport, sendAutomaticallyWhen: helpers[helper] });
    this.chat = chat;
    const Page = () => createElement('output', null, useChat<Message>({ chat }).status);
    const root = createRoot(document.body);
    root.render(createElement(Page));
    this.leave = () => {
      root.unmount();
      if (ours instanceof DuologueTransport) ours.close();
    };
  }

  /** Says something and waits until the chat is at rest. */
  async say(text: string): Promise<void> {
    await this.chat?.sendMessage({ text });
  }

  async decide(approved: boolean): Promise<void> {
    const id = this.calls.find(({ state }) => state === 'approval-requested')?.approval?.id;
    if (id !== undefined) await this.chat?.addToolApprovalResponse({ id, approved });
  }

  async give(output: unknown): Promise<void> {
    const { toolCallId } = this.calls.at(-1) ?? {};
    if (toolCallId === undefined) return;
    await this.chat?.addToolOutput({ tool: 'any' as never, toolCallId, output: output as never });
  }

  /** Decides and gives the output without waiting between the two. */
  async approveAndGive(output: unknown): Promise<void> {
    await Promise.all([this.decide(true), this.give(output)]);
  }

  get chatId(): string {
    return this.chat?.id ?? '';
  }

  /** Whether nothing is being sent or read. */
  get isAtRest(): boolean {
    return this.chat?.status === 'ready' || this.chat?.status === 'error';
  }

  get error(): string | null {
    return this.chat?.status === 'error' ? (this.chat.error?.message ?? 'error') : null;
  }

  get calls(): Shown[] {
    return (this.chat?.messages ?? [])
      .flatMap(({ parts }) => parts)
      .filter((part) => 'toolCallId' in part) as unknown as Shown[];
  }

  get texts(): string[] {
    return (this.chat?.messages ?? [])
      .filter(({ role }) => role === 'assistant')
      .flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? part.text : [])));
  }
}

declare global {
  interface Window {
    plain: PlainPage;
  }
}

window.plain = new PlainPage();
