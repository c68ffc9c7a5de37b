import type { ChatTransport } from 'ai';
import { WebSocket } from 'ws';
import {
  DuologueSseTransport,
  DuologueTransport,
  type Executors,
  resumeWhen,
  type Timers,
  type WebSocketLike,
} from '../../../src/client/index.ts';
import type { Message } from '../../../src/protocol/index.ts';
import type { Duologue } from '../../../src/server/index.ts';
import type { TestChat } from '../../client/support/chat.ts';
import type { Sdk } from '../../support/sdks.ts';
import type { Sends } from './scenarios.ts';

/** A transport of a page, with what the page must do around it. */
export interface Way {
  transport: ChatTransport<Message>;
  sendAutomaticallyWhen: (options: { messages: Message[] }) => boolean;
  /** Whether the transport runs browser tools. */
  hasExecutors: boolean;
  /** Whether the page must send the outputs of its tools itself. */
  sendsByHand: boolean;
  sent: () => number | Sends['bidi'];
  /** The page's recovery from a network error; absent where the transport recovers by itself. */
  recover?: (chat: TestChat) => Promise<void>;
  close: () => void;
}

/** The inputs of a transport. */
export interface WayContext {
  sdk: Sdk;
  duologue: Duologue;
  url: string;
  executors: Executors;
  fetch?: typeof fetch;
  WebSocket?: new (url: string, protocols: string[]) => WebSocketLike;
  onPending?: () => void;
  onReset?: (messages: Message[]) => void;
}

/** The names of the transports. */
export type WayName =
  | 'memory'
  | 'SSE'
  | 'SSE, stock'
  | 'stock WebSocket'
  | 'WebSocket'
  | 'WebSocket, turn by turn';

/** The pong timeout while a request is pending; long, for a busy machine. */
const PULSE_MS = 2_000;

/** Real time, but without delays between retries. */
export const impatient: Timers = {
  now: () => Date.now(),
  // A fixed jitter with which no retry delay equals the pong timeout.
  random: () => 0.1,
  after(ms, work) {
    const timer = setTimeout(work, ms === PULSE_MS || ms >= 10_000 ? ms : 0);
    return () => clearTimeout(timer);
  },
};

/** The transports from a page to the server. */
export const ways: Record<WayName, (context: WayContext) => Way> = {
  memory: (context) =>
    overSse({
      ...context,
      url: 'http://localhost',
      fetch: (input, init) => context.duologue.fetch(new Request(input as string, init)),
    }),
  SSE: overSse,
  'SSE, stock': ({ sdk, url }) => {
    const counted = counting(fetch);
    return {
      transport: new sdk.DefaultChatTransport<Message>({ api: `${url}/stream`, fetch: counted.fetch }),
      sendAutomaticallyWhen: sdk.lastAssistantMessageIsCompleteWithApprovalResponses as never,
      hasExecutors: false,
      sendsByHand: true,
      sent: counted.posts,
      close: () => undefined,
    };
  },
  'stock WebSocket': overStockSocket,
  WebSocket: overSocket,
  'WebSocket, turn by turn': overSocket,
};

/** The transport that `ai` 7 brings, and the lines around it that docs/clients.md shows. */
function overStockSocket({ sdk, url, WebSocket: Socket = WebSocket as never }: WayContext): Way {
  let sends = 0;
  let isOver = false;
  class Counting extends (Socket as unknown as new (url: string | URL) => { send(data: string): void }) {
    override send(data: string): void {
      if (data.startsWith('{"type":"send"')) sends++;
      super.send(data);
    }
  }
  const { WebSocketChatTransport } = sdk;
  class Transport extends WebSocketChatTransport<never> {
    override async reconnectToStream(...asked: Parameters<ChatTransport<never>['reconnectToStream']>) {
      const stream = await super.reconnectToStream(...asked);
      isOver = stream === null;
      return stream;
    }
  }
  const transport = new Transport({ url: `${url}/ws`, webSocket: Counting as never });
  return {
    transport: transport as unknown as ChatTransport<Message>,
    sendAutomaticallyWhen: sdk.lastAssistantMessageIsCompleteWithApprovalResponses as never,
    hasExecutors: false,
    sendsByHand: true,
    sent: () => sends,
    async recover(chat) {
      await chat.resumeStream();
      // The server has nothing to resume: the request was lost before it arrived, or its process died with the beginning of the answer.
      if (isOver) await (isBeginning(chat.messages.at(-1)) ? chat.regenerate() : chat.sendMessage());
    },
    close: () => transport.close(),
  };
}

/** Whether a message is the beginning of an answer, to which the page has nothing to send: no answer to a call. */
const isBeginning = (message: Message | undefined): boolean =>
  message?.role === 'assistant' &&
  message.parts.every((part) => !('toolCallId' in part) || part.state.startsWith('input'));

function overSocket(context: WayContext): Way {
  const frames = { message: 0, tool_result: 0 };
  const transport = new DuologueTransport<Message>({
    url: context.url,
    WebSocket: context.WebSocket ?? (WebSocket as unknown as NonNullable<WayContext['WebSocket']>),
    executors: context.executors,
    timers: impatient,
    onPending: context.onPending,
    onReset: context.onReset,
    onFrame(direction, data) {
      if (direction !== 'out' || typeof data !== 'string') return;
      const { type } = JSON.parse(data) as { type: string };
      if (type === 'message' || type === 'tool_result') frames[type]++;
    },
  });
  return {
    transport,
    sendAutomaticallyWhen: resumeWhen(transport) as Way['sendAutomaticallyWhen'],
    hasExecutors: true,
    sendsByHand: false,
    sent: () => frames,
    close: () => transport.close(),
  };
}

function overSse({ url, executors, fetch: send = fetch }: WayContext): Way {
  const counted = counting(send);
  const transport = new DuologueSseTransport<Message>({
    url,
    executors,
    fetch: counted.fetch,
    timers: impatient,
  });
  return {
    transport,
    sendAutomaticallyWhen: resumeWhen(transport) as Way['sendAutomaticallyWhen'],
    hasExecutors: true,
    sendsByHand: false,
    sent: counted.posts,
    close: () => transport.close(),
  };
}

function counting(send: typeof fetch): { fetch: typeof fetch; posts: () => number } {
  let posts = 0;
  return {
    posts: () => posts,
    fetch: (input, init) => {
      if (init?.method === 'POST' && String(input).endsWith('/stream')) posts++;
      return send(input, init);
    },
  };
}
