import type { Chunk, Message } from '../../../src/protocol/index.ts';
import type { Sdk } from '../../support/sdks.ts';

/** A value after a JSON round trip. */
export function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** Chunks as a response that has already arrived. */
export function streamOf(chunks: Chunk[]): ReadableStream<Chunk> {
  return new ReadableStream<Chunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(plain(chunk));
      controller.close();
    },
  });
}

/** Lets an AI SDK client build a message from the chunks of one response. */
export async function buildWith(sdk: Sdk, message: Message, chunks: Chunk[]): Promise<Message> {
  const built = plain(message);
  const states = sdk.readUIMessageStream<Message>({
    message: built,
    stream: streamOf(chunks),
    terminateOnError: true,
  });
  for await (const _ of states) {
    // The client works on `built` itself; some chunks change it without a new state.
  }
  return plain(built);
}

/** The message after the user's click on an approval card, as a client changes it. */
export function decided(message: Message, toolCallId: string, approved: boolean, reason?: string): Message {
  return plain({
    ...message,
    parts: message.parts.map((part) =>
      'toolCallId' in part && part.toolCallId === toolCallId && part.state === 'approval-requested'
        ? { ...part, state: 'approval-responded', approval: { ...part.approval, approved, reason } }
        : part,
    ),
  } as Message);
}
