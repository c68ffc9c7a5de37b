import type * as ai from 'ai';
import type { Message } from '../../../src/protocol/index.ts';
import type { Duologue } from '../../../src/server/index.ts';
import { turns } from './turns.ts';

type Sdk = typeof ai;
type Init = ConstructorParameters<Sdk['AbstractChat']>[0];
type Predicate = NonNullable<Init['sendAutomaticallyWhen']>;

/** The state of a chat without a UI around it. */
class PlainState implements ai.ChatState<Message> {
  status: ai.ChatStatus = 'ready';
  error: Error | undefined;
  messages: Message[];

  constructor(messages: Message[]) {
    this.messages = messages;
  }

  pushMessage(message: Message): void {
    this.messages = [...this.messages, message];
  }

  popMessage(): void {
    this.messages = this.messages.slice(0, -1);
  }

  replaceMessage(index: number, message: Message): void {
    this.messages = this.messages.map((old, at) => (at === index ? structuredClone(message) : old));
  }

  snapshot<T>(value: T): T {
    return structuredClone(value);
  }
}

/** What one request of a chat was, and how it was answered. */
export interface Exchange {
  method: string;
  path: string;
  body: unknown;
  status: number;
}

/** The SDK's own chat with its own transport, against a server in this process. */
export interface Client {
  chat: ai.AbstractChat<Message>;
  exchanges: Exchange[];
  data: unknown[];
  /** The last message, which must be the assistant's. */
  answer(): Message;
  /** Resolves when no request is in progress. */
  quiet(): Promise<void>;
  /** Resolves when so many pieces of text have been seen in the last message. */
  until(seen: (chat: ai.AbstractChat<Message>) => boolean): Promise<void>;
}

/** Makes a chat of the SDK given. */
export function client(
  sdk: Sdk,
  duologue: Duologue,
  options: {
    sendAutomaticallyWhen?: Predicate;
    id?: string;
    messages?: Message[];
    /** Another transport than the SDK's own, on the same fetch. */
    transport?: (fetch: typeof globalThis.fetch) => ai.ChatTransport<Message>;
  } = {},
): Client {
  const exchanges: Exchange[] = [];
  const data: unknown[] = [];
  let open = 0;
  const fetch: typeof globalThis.fetch = async (input, init) => {
    open++;
    try {
      const request = new Request(input, init);
      const response = await duologue.fetch(request);
      exchanges.push({
        method: request.method,
        path: new URL(request.url).pathname,
        body: typeof init?.body === 'string' ? JSON.parse(init.body) : null,
        status: response.status,
      });
      return response;
    } finally {
      open--;
    }
  };
  const transport =
    options.transport?.(fetch) ??
    new sdk.DefaultChatTransport<Message>({ api: 'http://localhost/stream', fetch });
  class PlainChat extends sdk.AbstractChat<Message> {}
  const chat = new PlainChat({
    id: options.id ?? 'chat-1',
    transport,
    state: new PlainState(options.messages ?? []),
    onData: (part: unknown) => data.push(part),
    onError: () => undefined,
    ...(options.sendAutomaticallyWhen
      ? { sendAutomaticallyWhen: options.sendAutomaticallyWhen as never }
      : {}),
  } as never);
  const until = (seen: (chat: ai.AbstractChat<Message>) => boolean) => turns(() => seen(chat));
  return {
    chat,
    exchanges,
    data,
    until,
    answer() {
      const last = chat.messages.at(-1);
      if (last?.role !== 'assistant') throw new Error('The last message is not an answer.');
      return last;
    },
    async quiet() {
      let calm = 0;
      await until(() => {
        calm = open === 0 && (chat.status === 'ready' || chat.status === 'error') ? calm + 1 : 0;
        return calm > 8;
      });
    },
  };
}

/** The ids of the pending approvals of a message, in order. */
export function cards(message: Message): string[] {
  return message.parts.flatMap((part) =>
    'state' in part && part.state === 'approval-requested' && 'approval' in part && part.approval
      ? [part.approval.id]
      : [],
  );
}
