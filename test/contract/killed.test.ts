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
import { hasStockSocket, newestSdk, type Sdk, sdks } from '../support/sdks.ts';
import { settled } from '../support/settled.ts';
import { closing, until } from './support/play.ts';
import { failOnUnhandled } from './support/unhandled.ts';
import { impatient, ways } from './support/ways.ts';

failOnUnhandled();

/** A server that dies in the middle of an answer, and the next process on its store. */
async function dyingServer(afterMs: number | null) {
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
  const begin = async (...args: Parameters<typeof harness>) => {
    const made = harness(args[0], [], { newId: randomUUID, store, ...args[2] });
    return { ...made, served: closing(await serve(made.duologue, { port: 0 })) };
  };
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
  // The first process is dead when no client reaches it any more.
  let { port } = before.served;
  const sockets: WebSocket[] = [];
  class Routed extends WebSocket {
    constructor(url: string | URL, protocols?: string[]) {
      super(String(url).replace(String(before.served.port), String(port)), protocols);
      sockets.push(this);
    }
  }
  return {
    duologue: before.duologue,
    url: before.served.url,
    WebSocket: Routed as never,
    /** Lets the page show the first words, then kills the server. */
    async die(chat: TestChat): Promise<void> {
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
      port = after.served.port;
      sockets[0]?.terminate();
    },
    /** Ends the turn of the dead process when the test is over. */
    bury: () => closing({ close: () => release() }),
    stored: async () => {
      const body = (await (await after.get('/sessions/chat-1')).json()) as { messages: Message[] };
      return body.messages;
    },
  };
}

/** A page whose server dies in the middle of an answer, so and so long after it began, and comes back. Null: before it could write. */
async function killed(sdk: Sdk, afterMs: number | null): Promise<TestChat> {
  const server = await dyingServer(afterMs);
  let resets = 0;
  const transport = closing(
    new DuologueTransport<Message>({
      url: server.url,
      WebSocket: server.WebSocket,
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
  await server.die(chat);
  await until(
    () => resets > 0 && chat.status === 'ready',
    () => [resets, chat.status],
  );
  await settled();
  server.bury();
  return chat;
}

/** The same with the WebSocket transport that `ai` 7 brings: after the error the page calls `resumeStream()`. */
async function killedWithStock(sdk: Sdk, afterMs: number | null) {
  const { stored, ...server } = await dyingServer(afterMs);
  const way = closing(ways['stock WebSocket']({ ...server, sdk, executors: {} }));
  let recoveries = 0;
  const chat: TestChat = chatOf(sdk, {
    transport: way.transport,
    sendAutomaticallyWhen: way.sendAutomaticallyWhen,
    onError: () => {
      // The chat changes its status after this call.
      if (recoveries === 0) setImmediate(() => void way.recover?.(chat).then(() => recoveries++));
    },
  });
  void chat.sendMessage({ text: 'count' });
  await server.die(chat);
  await until(
    () => recoveries === 1,
    () => [chat.status, chat.error?.message, chat.messages.map(brief)],
  );
  await settled();
  server.bury();
  return { chat, stored };
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

describe.each(hasStockSocket(newestSdk) ? [newestSdk] : [])(
  'a page with the stock WebSocket of ai whose server dies in the middle of an answer',
  (sdk) => {
    it.each([20, 100])(
      '[W6] [R7a] shows after resuming what was stored of it after %s ms, marked as cut off',
      async (ms) => {
        const { chat, stored } = await killedWithStock(sdk, ms);
        expect([chat.status, ...chat.messages.map(brief)]).toEqual(['ready', ['count'], ['One two ']]);
        expect(chat.messages.at(-1)?.metadata).toMatchObject({ interrupted: true, cutOff: true });
        expect((await stored()).map(brief)).toEqual(chat.messages.map(brief));
      },
    );

    it('[W7] [R7c] asks the question again when nothing was stored', async () => {
      const { chat, stored } = await killedWithStock(sdk, null);
      await until(
        () => chat.status === 'ready' && brief(chat.messages.at(-1))[0] === 'Three.',
        () => [chat.status, chat.messages],
      );
      expect(chat.messages.map(brief)).toEqual([['count'], ['Three.']]);
      expect((await stored()).map(brief)).toEqual([['count'], ['Three.']]);
    });
  },
);
