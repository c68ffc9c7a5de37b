import { useChatRuntime } from '@assistant-ui/react-ai-sdk';
import { DuologueTransport, resumeWhen } from 'duologue/client';
import type { Message } from 'duologue/protocol';
import { useState } from 'react';

/** The runtime of the page, over a WebSocket. The transport runs the browser tools. */
export function useAgentRuntime() {
  const [transport] = useState(
    () =>
      new DuologueTransport<Message>({
        url: '/api/chat',
        executors: {
          paint_page(input) {
            const { colour } = input as { colour: string };
            document.body.style.background = colour;
            return { painted: colour };
          },
        },
      }),
  );
  return useChatRuntime<Message>({ transport, sendAutomaticallyWhen: resumeWhen(transport) });
}
