import type * as ai from 'ai';
import type { Fixture } from '../../../scripts/fixtures/capture.ts';
import type { Answer, Step } from '../../../scripts/fixtures/conversation.ts';
import type { Chunk, Message } from '../../../src/protocol/index.ts';
import { plain, streamOf } from '../../protocol/support/sdk.ts';

type Sdk = typeof ai;

/** The responses that a client reads: over SSE up to each `[DONE]`, over BIDI up to each pause, without the steps. */
function responsesOf({ mode, output }: Fixture): Chunk[][] {
  const responses: Chunk[][] = [[]];
  for (const block of output.rawEvents) {
    if (block === 'data: [DONE]\n\n') {
      responses.push([]);
      continue;
    }
    const chunk = JSON.parse(block.slice('data: '.length)) as Chunk;
    if (mode === 'sse') responses.at(-1)?.push(chunk);
    else {
      if (chunk.type !== 'start-step' && chunk.type !== 'finish-step') responses.at(-1)?.push(chunk);
      const isForBrowser =
        chunk.type === 'tool-input-available' &&
        chunk.toolMetadata?.runsOn === 'client' &&
        !chunk.toolMetadata.asks;
      if (chunk.type === 'finish-step' || isForBrowser) responses.push([]);
    }
  }
  return responses.filter((response) => response.length > 0);
}

class PlainState implements ai.ChatState<Message> {
  status: ai.ChatStatus = 'ready';
  error: Error | undefined;
  messages: Message[] = [];

  pushMessage(message: Message): void {
    this.messages = [...this.messages, message];
  }

  popMessage(): void {
    this.messages = this.messages.slice(0, -1);
  }

  replaceMessage(index: number, message: Message): void {
    this.messages = this.messages.map((old, at) => (at === index ? message : old));
  }

  snapshot<T>(value: T): T {
    return structuredClone(value);
  }
}

/** Plays a fixture to the SDK's own chat, which answers at each pause as the scenario says; gives all its messages. */
export async function replay(sdk: Sdk, fixture: Fixture, steps: readonly Step[]): Promise<Message[]> {
  const responses = responsesOf(fixture);
  const errors: unknown[] = [];
  class PlainChat extends sdk.AbstractChat<Message> {}
  const chat = new PlainChat({
    id: 'replay',
    state: new PlainState(),
    transport: {
      sendMessages: async () => streamOf(responses.shift() ?? []),
      reconnectToStream: async () => null,
    },
    onError: (error: unknown) => errors.push(error),
  } as never);
  await chat.sendMessage({ text: 'as the fixture says' });
  for (const step of steps) {
    if (typeof step === 'object' && 'answers' in step)
      for (const answer of step.answers) await give(chat, answer);
    await chat.sendMessage();
  }
  if (errors.length > 0) throw errors[0];
  if (responses.length > 0) throw new Error(`${responses.length} responses were never asked for.`);
  return plain(chat.messages);
}

async function give(chat: ai.AbstractChat<Message>, answer: Answer): Promise<void> {
  const calls = chat.messages.at(-1)?.parts.filter((part) => 'toolCallId' in part) ?? [];
  const call = calls[answer.call - 1];
  if (!call || !('toolCallId' in call)) throw new Error(`There is no call number ${answer.call}.`);
  if (answer.approved !== undefined) {
    const id = call.approval?.id ?? '';
    await chat.addToolApprovalResponse({ id, approved: answer.approved });
  }
  if (answer.output !== undefined) {
    const { toolCallId, type } = call;
    await chat.addToolOutput({
      tool: type.replace(/^tool-/, ''),
      toolCallId,
      output: answer.output,
    } as never);
  }
}
