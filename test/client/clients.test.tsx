// @vitest-environment jsdom
import '../react/support/native-abort.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Chat as VueChat } from '@ai-sdk/vue';
import { expect, onTestFinished, test } from 'vitest';
import type { Message } from '../../src/protocol/index.ts';
import { serve } from '../../src/server/adapters/node.ts';
import { Relay } from '../browser/support/relay.ts';
import { type WayName, ways } from '../contract/support/ways.ts';
import { latch } from '../server/support/listen.ts';
import { harness } from '../support/harness.ts';
import { hasStockSocket, newestSdks, type Sdk } from '../support/sdks.ts';
import { chatOf } from './support/chat.ts';
import {
  type ClientScenario,
  clientScenarios,
  type ScenarioChat,
  type Stage,
  shownBy,
  toolsOf,
} from './support/client-scenarios.ts';
import { svelteChat } from './support/svelte-chat.ts';

/** A client of the table: the way to the server, and the chat of its framework. */
interface Client {
  name: string;
  way: WayName;
  isFor: (version: string, sdk: Sdk) => boolean;
  /** Makes the chat; without it, one of the SDK without a framework. */
  makeChat?: MakeChat;
}

/** Makes a chat. A chat that must be closed has `close`. */
type MakeChat = (...given: Parameters<typeof chatOf>) => Made | Promise<Made>;
type Made = ScenarioChat & { close?(): void };

/** The transports with which the chats of frameworks were played. */
const TRANSPORTS = {
  DefaultChatTransport: 'SSE, stock',
  WebSocketChatTransport: 'stock WebSocket',
  DuologueTransport: 'WebSocket',
} as const;

/** The chats of frameworks, for `ai` 7. Each of `TRANSPORTS` is a row. */
const FRAMEWORKS: Record<string, MakeChat> = {
  '`Chat` of `@ai-sdk/vue` 4': (_sdk, init) => new VueChat<Message>({ id: 'chat-1', ...init }),
  '`Chat` of `@ai-sdk/svelte` 5': async (_sdk, init) => {
    const Chat = await svelteChat();
    return new Chat({ id: 'chat-1', ...init });
  },
  '`useAISDKRuntime` of `@assistant-ui/react-ai-sdk` 1': async (_sdk, init) => {
    const { assistantUiChat } = await import('./support/assistant-ui-chat.tsx');
    return assistantUiChat(init);
  },
};

/** The clients of the table. */
const CLIENTS: Client[] = [
  {
    name: '`DefaultChatTransport` of `ai` 6',
    way: 'SSE, stock',
    isFor: (version) => version.startsWith('6'),
  },
  {
    name: '`DefaultChatTransport` of `ai` 7',
    way: 'SSE, stock',
    isFor: (version) => version.startsWith('7'),
  },
  {
    name: '`WebSocketChatTransport` of `ai` 7',
    way: 'stock WebSocket',
    isFor: (_version, sdk) => hasStockSocket(sdk),
  },
  ...['7', '6'].flatMap((major) => {
    const isFor = (version: string) => version.startsWith(major);
    return [
      { name: `\`DuologueSseTransport\` with \`ai\` ${major}`, way: 'SSE' as const, isFor },
      { name: `\`DuologueTransport\` with \`ai\` ${major}`, way: 'WebSocket' as const, isFor },
    ];
  }),
  ...Object.entries(FRAMEWORKS).flatMap(([framework, makeChat]) =>
    Object.entries(TRANSPORTS).map(([transport, way]) => ({
      name: `${framework} with \`${transport}\``,
      way,
      isFor: (version: string) => version.startsWith('7'),
      makeChat,
    })),
  ),
];

/** The clients that this leg of the tests has, with their SDK. */
const here = CLIENTS.flatMap(({ name, way, isFor, makeChat = chatOf }) => {
  const sdk = newestSdks.find(([version, one]) => isFor(version, one))?.[1];
  return sdk ? [{ name, way, sdk, makeChat }] : [];
});

/** Plays one cell; what the page shows in the end, and its status. */
async function cellOf(client: (typeof here)[number], scenario: ClientScenario): Promise<unknown> {
  const { sdk, way: wayName, makeChat } = client;
  const go = latch();
  onTestFinished(go.open);
  const { duologue } = harness(scenario.turns(go.opened), toolsOf(), { rateLimit: false });
  const served = await serve(duologue, { port: 0, quiet: true });
  const relay = await new Relay(served.url).start();
  const closing: (() => unknown)[] = [() => served.close(), () => relay.dispose()];
  onTestFinished(async () => {
    for (const close of closing.reverse()) await close();
  });
  const open = async (
    messages: Message[] = [],
  ): Promise<{ chat: ScenarioChat; recover: Stage['recover'] }> => {
    const way = ways[wayName]({
      sdk,
      duologue,
      url: relay.url,
      executors: { change_bgm: () => ({ playing: 2 }) },
      onPending: () => void chat.sendMessage(),
    });
    closing.push(() => way.close());
    const { lastAssistantMessageIsCompleteWithApprovalResponses: approvals } = sdk;
    const { lastAssistantMessageIsCompleteWithToolCalls: outputs } = sdk;
    const chat: Made = await makeChat(sdk, {
      messages,
      transport: way.transport,
      sendAutomaticallyWhen: way.hasExecutors
        ? way.sendAutomaticallyWhen
        : (now) => approvals(now) || outputs(now),
    });
    closing.push(() => chat.close?.());
    return {
      chat,
      recover: (way.recover as Stage['recover']) ?? (way.hasExecutors ? null : (one) => one.resumeStream()),
    };
  };
  const session = async () =>
    (await (await fetch(`${served.url}/sessions/chat-1`)).json()) as {
      messages: Message[];
      isRunning: boolean;
    };
  const opened = await open();
  const shown = await scenario.play({
    ...opened,
    go: go.open,
    cut() {
      relay.cut();
      relay.restore();
    },
    reload: async () => (await open((await session()).messages)).chat,
    async stop(chat) {
      await chat.stop();
      // The SDK's transport only stops reading: the page asks the server to stop, too.
      if (wayName === 'SSE, stock') await fetch(`${served.url}/sessions/chat-1/stop`, { method: 'POST' });
    },
    isRunning: async () => (await session()).isRunning,
  });
  return { shows: shownBy(shown), status: shown.status, messages: shown.messages.length };
}

const rows = new Map<string, string[]>();
const columns = Object.entries(clientScenarios);

test.each(here.flatMap((client) => columns.map(([column, scenario]) => ({ ...client, column, scenario }))))(
  '$name, $column: the page shows the whole answer and is ready',
  async ({ column, scenario, ...client }) => {
    expect(await cellOf(client, scenario)).toEqual({ shows: scenario.shows, status: 'ready', messages: 2 });
    rows.set(client.name, [...(rows.get(client.name) ?? []), column]);
  },
);

/** Whether a cell was played; a client that this leg of the tests does not have keeps its row. */
function isPlayed(name: string, column: string, text: string): boolean {
  if (here.some((client) => client.name === name)) return rows.get(name)?.includes(column) ?? false;
  return text.split('\n').some((line) => line.startsWith(`| ${name} |`) && !line.includes('| no |'));
}

test('docs/clients.md has the table of what was played (-u writes it)', async () => {
  const path = join(import.meta.dirname, '../../docs/clients.md');
  const text = readFileSync(path, 'utf8');
  const lines = [
    ['client', ...columns.map(([column]) => column)],
    ['---', ...columns.map(() => '---')],
    ...CLIENTS.map(({ name }) => [
      name,
      ...columns.map(([column]) => (isPlayed(name, column, text) ? 'yes' : 'no')),
    ]),
  ];
  const table = lines.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
  const begin = '<!-- generated: clients -->\n';
  const at = text.indexOf(begin) + begin.length;
  await expect(text.slice(0, at) + table + text.slice(text.indexOf('<!-- end -->'))).toMatchFileSnapshot(
    path,
  );
});
