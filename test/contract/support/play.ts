import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { Message } from '../../../src/protocol/index.ts';
import { serve } from '../../../src/server/adapters/node.ts';
import type { Duologue, DuologueOptions } from '../../../src/server/index.ts';
import { chatOf, type TestChat } from '../../client/support/chat.ts';
import { harness } from '../../support/harness.ts';
import type { Sdk } from '../../support/sdks.ts';
import { executorsOf, type Scenario } from './scenarios.ts';
import { type Way, type WayContext, type WayName, ways } from './ways.ts';

/** The result of a conversation. */
export interface Played {
  /** The messages that the page shows, with normalised ids and times. */
  messages: unknown;
  /** The messages that the server stored, normalised likewise. */
  stored: unknown;
  sent: ReturnType<Way['sent']>;
  ran: string[];
  ranInBrowser: string[];
  error: string | null;
  left: number;
}

const open: { close(): Promise<void> | void }[] = [];
const rejections: unknown[] = [];
const note = (reason: unknown) => rejections.push(reason);

beforeAll(() => {
  process.on('unhandledRejection', note);
});

afterAll(() => {
  process.off('unhandledRejection', note);
});

/** Closes what `closing` noted: after each test, or earlier in a test that plays many conversations. */
export async function closeAll(): Promise<void> {
  for (const one of open.splice(0).reverse()) await one.close();
}

afterEach(async () => {
  await closeAll();
  expect(rejections.splice(0)).toEqual([]);
});

/** Resolves when the condition holds; fails after a bounded time, with a description of how things are. */
export async function until(condition: () => boolean, describe: () => unknown, ms = 60_000): Promise<void> {
  const deadline = Date.now() + ms;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`It did not come to that: ${JSON.stringify(describe())}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Something to be closed after the test. */
export function closing<T extends { close(): Promise<void> | void }>(one: T): T {
  open.push(one);
  return one;
}

/** A server for the agent of a scenario. */
export interface Stage {
  url: string;
  duologue: Duologue;
  get(path: string): Promise<Response>;
  /** How many turns of the model are still to be played. */
  left(): number;
}

/** Serves a scenario's agent; `ran` records the calls of its tools. */
export type Staging = (scenario: Scenario, way: WayName, ran: string[]) => Promise<Stage>;

/** The options of a server for a scenario. */
export function optionsFor(scenario: Scenario, way: WayName): Partial<DuologueOptions> {
  return {
    approvalTimeoutMs: null,
    rateLimit: false,
    ...(way === 'WebSocket, turn by turn' ? { driver: 'turn' as const } : {}),
    ...scenario.options,
  };
}

/** One server on a free port. */
const onOneServer: Staging = async (scenario, way, ran) => {
  const made = harness(scenario.turns(), scenario.tools?.(ran) ?? [], optionsFor(scenario, way));
  const { url } = closing(await serve(made.duologue, { port: 0 }));
  return { url, duologue: made.duologue, get: made.get, left: () => made.model.left };
};

/** Runs a scenario over one transport with the chat of one SDK version. */
export async function play(
  scenario: Scenario,
  wayName: WayName,
  sdk: Sdk,
  network: Pick<WayContext, 'fetch' | 'WebSocket'> = {},
  staging: Staging = onOneServer,
): Promise<Played> {
  const ran: string[] = [];
  const ranInBrowser: string[] = [];
  const made = await staging(scenario, wayName, ran);
  let chat: TestChat;
  let recovering = false;
  const way = ways[wayName]({
    sdk,
    duologue: made.duologue,
    url: made.url,
    executors: executorsOf(scenario, ranInBrowser),
    // The one line that a plain chat adds: it reads chunks that arrived while the chat read nothing.
    onPending: () => void chat.sendMessage(),
    ...network,
  });
  closing(way);
  chat = chatOf(sdk, {
    transport: way.transport,
    sendAutomaticallyWhen: way.sendAutomaticallyWhen,
    onError: (error) => {
      const { recover } = way;
      if (!recover || !(error instanceof TypeError)) return;
      recovering = true;
      // The chat changes its status after this call.
      setImmediate(
        () =>
          void recover(chat).finally(() => {
            recovering = false;
          }),
      );
    },
  });
  const { text, files } = scenario.says ?? { text: 'go' };
  void chat.sendMessage({ text, ...(files ? { files } : {}) });
  await person(scenario, chat, way, made, () => recovering);
  // Nothing may follow: no repeated request, no second message.
  for (let i = 0; i < 30; i++) await new Promise((resolve) => setImmediate(resolve));
  const { messages } = (await (await made.get('/sessions/chat-1')).json()) as { messages: Message[] };
  return {
    messages: await normal(chat.messages, made),
    stored: await normal(messages, made),
    sent: way.sent(),
    ran: scenario.ranInAnyOrder ? [...ran].sort() : ran,
    ranInBrowser,
    error: chat.error?.message ?? null,
    left: made.left(),
  };
}

/** Performs the actions of user and page until the conversation is at rest. */
async function person(
  scenario: Scenario,
  chat: TestChat,
  way: Way,
  made: Stage,
  isRecovering: () => boolean,
): Promise<void> {
  const done = new Set<string>();
  const rests = () => !isRecovering() && (chat.status === 'ready' || chat.status === 'error');
  const describe = () => [chat.status, chat.messages, chat.error?.message];
  for (let round = 0; round < 10; round++) {
    await until(
      () => rests() && (isOver(scenario, chat, made) || dueIn(scenario, chat, way, done) !== null),
      describe,
    );
    const due = dueIn(scenario, chat, way, done);
    if (due === null) return;
    done.add(due.key);
    await due.act();
  }
}

function isOver(scenario: Scenario, chat: TestChat, made: Stage): boolean {
  if (scenario.fails) return chat.status === 'error';
  const { parts } = chat.messages.at(-1) ?? { parts: [] };
  const isSettled = parts.every((part) => !('toolCallId' in part) || part.state.startsWith('output'));
  return (
    made.left() === 0 &&
    chat.messages.length === 2 &&
    isSettled &&
    parts.filter(isNoStep).length === scenario.answer.length
  );
}

/** Transports may place `step-start` differently: ours begins a step before the parts that follow settled calls. */
const isNoStep = ({ type }: { type: string }): boolean => type !== 'step-start';

type Due = { key: string; act: () => unknown };

function dueIn(scenario: Scenario, chat: TestChat, way: Way, done: Set<string>): Due | null {
  for (const part of chat.messages.at(-1)?.parts ?? []) {
    if (!('toolCallId' in part)) continue;
    const { toolCallId, state } = part;
    const tool = part.type.slice('tool-'.length);
    const decision = scenario.decisions?.[toolCallId];
    if (state === 'approval-requested' && decision && !done.has(`decide ${toolCallId}`)) {
      const { id } = part.approval;
      return { key: `decide ${toolCallId}`, act: () => chat.addToolApprovalResponse({ id, ...decision }) };
    }
    const isMine =
      scenario.outputs && tool in scenario.outputs && !(scenario.hasExecutors && way.hasExecutors);
    const waits =
      state === 'input-available' ||
      (state === 'approval-responded' && !way.sendsByHand && part.approval.approved === true);
    const asks = decision !== undefined && !done.has(`decide ${toolCallId}`);
    if (isMine && waits && !asks && !done.has(`bring ${toolCallId}`)) {
      const output = scenario.outputs?.[tool];
      return {
        key: `bring ${toolCallId}`,
        async act() {
          await chat.addToolOutput({ tool, toolCallId, output } as never);
          if (way.sendsByHand) void chat.sendMessage();
        },
      };
    }
  }
  return null;
}

/** Messages as JSON with ids by their order, times gone, and files by their bytes. */
async function normal(messages: readonly Message[], made: Stage): Promise<unknown> {
  const copy = JSON.parse(JSON.stringify(messages)) as Message[];
  let approvals = 0;
  for (const [index, message] of copy.entries()) {
    message.id = `m${index}`;
    message.parts = message.parts.filter(isNoStep);
    if (message.metadata?.createdAt !== undefined) message.metadata.createdAt = 0;
    if (message.role === 'user') delete message.metadata;
    for (const part of message.parts) {
      if ('approval' in part && part.approval) part.approval.id = `approval${++approvals}`;
      if (part.type === 'file') part.url = await digest(part.url, made);
    }
  }
  return copy;
}

async function digest(url: string, made: Stage): Promise<string> {
  const bytes = url.startsWith('data:')
    ? Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')
    : Buffer.from(await (await made.get(new URL(url, 'http://localhost').pathname)).arrayBuffer());
  return createHash('sha256').update(bytes).digest('hex');
}
