import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { DuologueTransport, resumeWhen } from '../../src/client/index.ts';
import type { Message } from '../../src/protocol/index.ts';
import { serve } from '../../src/server/adapters/node.ts';
import { createMemoryStore, type Store } from '../../src/server/index.ts';
import { brief, chatOf, type TestChat } from '../client/support/chat.ts';
import { ManualClock } from '../support/clock.ts';
import { harness } from '../support/harness.ts';
import { partial, type ScriptedTurn, text } from '../support/scripted-model.ts';
import { type Sdk, sdks } from '../support/sdks.ts';
import { settled } from '../support/settled.ts';
import { closing, until } from './support/play.ts';
import { failOnUnhandled } from './support/unhandled.ts';
import { impatient } from './support/ways.ts';

failOnUnhandled();

/** A page whose server dies in the middle of an answer, so and so long after it began, and comes back. Null: before it could write. */
async function killed(sdk: Sdk, afterMs: number | null): Promise<TestChat> {
  const store = createMemoryStore();
  const clock = new ManualClock();
  let release: () => void = () => undefined;
  const turn: ScriptedTurn = async function* () {
    yield partial('One ');
    yield partial('two ');
    await new Promise<void>((resolve) => {
      release = resolve;
    });
  };
  const begin = async (...args: Parameters<typeof harness>) =>
    closing(
      await serve(harness(args[0], [], { newId: randomUUID, store, ...args[2] }).duologue, { port: 0 }),
    );
  const full: Pick<Store, 'putMessage'> = {
    putMessage: (key, message) =>
      message.role === 'user'
        ? store.putMessage(key, message)
        : Promise.reject(new Error('The disk is full.')),
  };
  const kept: Store = afterMs === null ? Object.assign(Object.create(store), full) : store;
  const before = await begin([turn], [], { clock, store: kept });
  // The next process answers the question by itself, and again when it is asked again.
  const after = await begin([[text('Three.')], [text('Three.')]]);
  // The first process is dead when nothing reaches it any more.
  let port = before.port;
  const sockets: WebSocket[] = [];
  class Routed extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url.replace(String(before.port), String(port)), protocols);
      sockets.push(this);
    }
  }
  let resets = 0;
  const transport = closing(
    new DuologueTransport<Message>({
      url: before.url,
      WebSocket: Routed as never,
      timers: impatient,
      onReset: (messages) => {
        resets++;
        chat.messages = messages;
      },
    }),
  );
  const chat = chatOf(sdk, {
    transport,
    sendAutomaticallyWhen: resumeWhen(transport) as never,
    onError: () => undefined,
  });
  void chat.sendMessage({ text: 'count' });
  await until(
    () => chat.messages.length > 1,
    () => chat.messages,
  );
  await settled();
  clock.advance(afterMs ?? 20);
  await until(
    () => brief(chat.messages.at(-1))[0] === 'One two ',
    () => chat.messages,
  );
  port = after.port;
  sockets[0]?.terminate();
  await until(
    () => resets > 0 && chat.status === 'ready',
    () => [resets, chat.status],
  );
  await settled();
  closing({ close: () => release() });
  return chat;
}

describe.each(sdks)(
  'a page whose server dies in the middle of an answer, with the chat of ai %s',
  (_version, sdk) => {
    it.each([20, 100])('[R5] [R7a] shows what was kept of it after %s ms, marked as cut off', async (ms) => {
      const { messages } = await killed(sdk, ms);
      expect(messages.map(brief)).toEqual([['count'], ['One two ']]);
      expect(messages.at(-1)?.metadata).toMatchObject({ interrupted: true, cutOff: true });
    });

    it('[R5] [R7c] shows the question alone when nothing was kept, and can ask it again', async () => {
      const chat = await killed(sdk, null);
      expect(chat.messages.map(brief)).toEqual([['count']]);
      void chat.regenerate();
      await until(
        () => chat.status === 'ready' && chat.messages.length > 1,
        () => [chat.status, chat.messages],
      );
      expect(chat.messages.map(brief)).toEqual([['count'], ['Three.']]);
    });
  },
);
