import { describe, expect, test } from 'vitest';
import { type Chunk, DONE, encodeBlock, type Message } from '../../src/protocol/index.ts';
import { type Sdk, sdks } from '../support/sdks.ts';
import { chatOf } from './support/chat.ts';

const PART = {
  type: 'tool-get_weather',
  toolCallId: 'c1',
  state: 'output-available',
  input: {},
  output: 'sunny',
};
const SETTLED = [
  { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'weather' }] },
  { id: 'a1', role: 'assistant', parts: [PART, { type: 'text', text: 'Sunny.', state: 'done' }] },
] as Message[];

/** How often the tool-calls helper has a chat with the SDK's own transport send again, at most five times. */
async function sendsOf(sdk: Sdk, answer: () => Response) {
  let sends = 0;
  const chat = chatOf(sdk, {
    messages: structuredClone(SETTLED),
    sendAutomaticallyWhen: (options) => sends < 5 && sdk.lastAssistantMessageIsCompleteWithToolCalls(options),
    transport: new sdk.DefaultChatTransport<Message>({
      api: 'http://localhost:1/stream',
      fetch: async () => {
        sends++;
        return answer();
      },
    }),
  });
  await chat.sendMessage();
  return { sends, status: chat.status };
}

const stream = (...chunks: Chunk[]) =>
  new Response(chunks.map((chunk) => encodeBlock(chunk)).join('') + DONE, {
    headers: { 'content-type': 'text/event-stream' },
  });

describe.each(sdks)('[T14d] a message that answers nothing open, ai %s', (_version, sdk) => {
  test('would be sent once if it were refused, and leave the status at error', async () => {
    const refused = await sendsOf(sdk, () => new Response('{}', { status: 409 }));
    expect(refused).toEqual({ sends: 1, status: 'error' });
  });

  test('would be sent without end if an empty response answered it', async () => {
    const empty = await sendsOf(sdk, () => stream({ type: 'start', messageId: 'a1' }, { type: 'finish' }));
    expect(empty.sends).toBe(5);
  });

  test('is sent once, because the response begins a step and has metadata', async () => {
    const step = await sendsOf(sdk, () =>
      stream(
        { type: 'start', messageId: 'a1' },
        { type: 'start-step' },
        { type: 'finish', messageMetadata: {} },
      ),
    );
    expect(step).toEqual({ sends: 1, status: 'ready' });
  });
});
