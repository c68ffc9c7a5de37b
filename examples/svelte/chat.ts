import { Chat } from '@ai-sdk/svelte';
import { DuologueTransport, resumeWhen } from 'duologue/client';
import type { Message } from 'duologue/protocol';

/** The chat of the page, over a WebSocket. The transport runs the browser tools. */
export function createChat(): Chat<Message> {
  const transport = new DuologueTransport<Message>({
    url: '/api/chat',
    executors: {
      paint_page(input) {
        const { colour } = input as { colour: string };
        document.body.style.background = colour;
        return { painted: colour };
      },
    },
  });
  return new Chat<Message>({ transport, sendAutomaticallyWhen: resumeWhen(transport) });
}
