import { type UseChatHelpers, useChat } from '@ai-sdk/react';
import { DefaultChatTransport } from 'ai';
import type { Message } from 'duologue/protocol';
import { type Mode, useDuologue } from 'duologue/react';
import { marked } from 'marked';
import { Tooltip } from 'radix-ui';
import { memo, useEffect, useRef } from 'react';
import { createRoot } from 'react-dom/client';
import { LanguageProvider } from '../../demo/web/src/i18n/language.tsx';
import { Blocks } from '../../demo/web/src/markdown/block.tsx';
import Growing from '../../demo/web/src/markdown/markdown.tsx';

/** The driver calls this function: it sends a user message and resolves with all messages when the answer is complete. */
export interface Bench {
  say(text: string): Promise<unknown[]>;
  renders: number;
}

declare global {
  interface Window {
    bench?: Bench;
  }
}

type Chat = Pick<UseChatHelpers<Message>, 'messages' | 'status' | 'sendMessage'>;

const query = new URLSearchParams(location.search);
const isWhole = query.get('renderer') === 'whole';

/** Lexes the whole text on every render, as Markdown renderers do. */
function Whole({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  return <Blocks tokens={marked.lexer(text)} isGrowing={isGrowing} />;
}

function View({ chat: { messages, status, sendMessage } }: { chat: Chat }) {
  const finish = useRef<((messages: unknown[]) => void) | null>(null);
  const renders = useRef(0);
  renders.current++;
  useEffect(() => {
    window.bench = {
      say: (text) =>
        new Promise((resolve) => {
          finish.current = resolve;
          void sendMessage({ text });
        }),
      get renders() {
        return renders.current;
      },
    };
  }, [sendMessage]);
  useEffect(() => {
    if (status !== 'ready' || messages.at(-1)?.role !== 'assistant') return;
    finish.current?.(messages);
    finish.current = null;
  }, [status, messages]);
  return messages.map((message) => <Answer key={message.id} message={message} />);
}

const Markdown = isWhole ? Whole : Growing;

/** Renders again only when the message changes. */
const Answer = memo(function Answer({ message }: { message: Message }) {
  return message.parts.map((part, index) =>
    part.type === 'text' ? (
      <Markdown key={index} text={part.text} isGrowing={part.state === 'streaming'} />
    ) : null,
  );
});

function Stock({ throttle }: { throttle: number | undefined }) {
  const chat = useChat<Message>({
    transport: new DefaultChatTransport({ api: '/stream' }),
    ...(throttle === undefined ? {} : { experimental_throttle: throttle }),
  });
  return <View chat={chat} />;
}

function Ours({ mode }: { mode: Mode }) {
  return <View chat={useDuologue({ url: '', mode })} />;
}

function variant() {
  switch (query.get('variant')) {
    case 'throttle':
      return <Stock throttle={50} />;
    case 'sse':
    case 'bidi':
      return <Ours mode={query.get('variant') as Mode} />;
    default:
      return <Stock throttle={undefined} />;
  }
}

const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <LanguageProvider>
      <Tooltip.Provider>{variant()}</Tooltip.Provider>
    </LanguageProvider>,
  );
}
