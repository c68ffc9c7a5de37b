import { defineTool } from '../../../src/adk/index.ts';
import type { Message } from '../../../src/protocol/index.ts';
import { turns } from '../../server/support/turns.ts';
import { fourTools } from '../../support/demo-tools.ts';
import { call, calls, partial, type ScriptedTurn, text } from '../../support/scripted-model.ts';
import { brief, type TestChat } from './chat.ts';

/** The part of a chat that a scenario uses. */
export type ScenarioChat = Pick<
  TestChat,
  | 'messages'
  | 'status'
  | 'sendMessage'
  | 'addToolApprovalResponse'
  | 'addToolOutput'
  | 'resumeStream'
  | 'stop'
>;

/** The parts of a page that a scenario may use. */
export interface Stage {
  chat: ScenarioChat;
  /** Lets the model say the rest of a counted answer. */
  go(): void;
  /** Breaks all connections once. */
  cut(): void;
  /** The page's recovery from a network error; null where its transport recovers by itself. */
  recover: ((chat: ScenarioChat) => Promise<void>) | null;
  /** A page that was loaded again: a new chat with the messages that the server has. */
  reload(): Promise<ScenarioChat>;
  /** Stops the answer, as the page does. */
  stop(chat: ScenarioChat): Promise<void>;
  /** Whether the agent still runs. */
  isRunning(): Promise<boolean>;
}

/** One column of the table: what the model does, what the user does, and what the page shows in the end. */
export interface ClientScenario {
  turns(go: Promise<void>): readonly ScriptedTurn[];
  play(stage: Stage): Promise<ScenarioChat>;
  shows: unknown[];
}

const pay = (amount: number) => ({ name: 'process_payment', args: { amount, recipient: 'Ann' } });
const music = { name: 'change_bgm', args: { track: 2 } };
const paid = (amount: number, balance: number) => [
  'output-available',
  true,
  { success: true, recipient: 'Ann', amount, wallet_balance: balance },
];
const played = ['output-available', { playing: 2 }];
const denied = ['output-error', false, 'User denied the tool call'];

/** The tools of the agent. */
export const toolsOf = () => [
  fourTools().payment,
  fourTools().music,
  defineTool({ name: 'now', description: 'The time.', execute: () => ({ time: 'noon' }) }),
];

/** What the page shows of its last message, without the ids of calls. */
export const shownBy = (chat: ScenarioChat): unknown[] =>
  chat.messages.at(-1)?.role === 'assistant'
    ? brief(chat.messages.at(-1)).map((part) => (Array.isArray(part) ? part.slice(1) : part))
    : [];

/** Approves or denies what is asked, and gives the outputs of browser tools that the transport does not run, until the page shows so many parts. */
async function answering(chat: ScenarioChat, parts: number, approved: boolean): Promise<ScenarioChat> {
  const done = new Set<string>();
  void chat.sendMessage({ text: 'go' });
  const rests = () => chat.status === 'ready' || chat.status === 'error';
  const next = () => duePart(chat.messages.at(-1), done);
  const isOver = () => chat.status === 'error' || (shownBy(chat).length === parts && isSettled(chat));
  for (;;) {
    await turns(() => rests() && (isOver() || next() !== undefined));
    const due = next();
    if (!due || chat.status === 'error') return chat;
    done.add(`${due.toolCallId} ${due.state}`);
    if (due.state === 'approval-requested' && due.approval) {
      await chat.addToolApprovalResponse({ id: due.approval.id, approved });
    } else {
      await chat.addToolOutput({
        tool: 'change_bgm' as never,
        toolCallId: due.toolCallId,
        output: { playing: 2 } as never,
      });
    }
  }
}

interface Due {
  type: string;
  toolCallId: string;
  state: string;
  approval?: { id: string };
}

function duePart(message: Message | undefined, done: ReadonlySet<string>): Due | undefined {
  return (message?.parts as unknown as Due[] | undefined)?.find(
    ({ type, toolCallId, state }) =>
      !done.has(`${toolCallId} ${state}`) &&
      (state === 'approval-requested' || (state === 'input-available' && type === 'tool-change_bgm')),
  );
}

const isSettled = (chat: ScenarioChat): boolean =>
  (chat.messages.at(-1)?.parts ?? []).every(
    (part) => !('toolCallId' in part) || part.state.startsWith('output'),
  );

const counting = (go: Promise<void>): readonly ScriptedTurn[] => [
  async function* () {
    yield partial('One ');
    await go;
    yield partial('two.');
    yield text('One two.');
  },
];

/** Says something that is answered in two parts, and waits for the first. */
async function begin(chat: ScenarioChat): Promise<void> {
  void chat.sendMessage({ text: 'count' });
  await turns(() => shownBy(chat).includes('One '));
}

const settledAt = (chat: ScenarioChat, status: string) => turns(() => chat.status === status);

/** The columns of the table. */
export const clientScenarios: Record<string, ClientScenario> = {
  text: {
    turns: () => [[partial('Hel'), partial('lo.'), text('Hello.')]],
    async play({ chat }) {
      await chat.sendMessage({ text: 'hi' });
      return chat;
    },
    shows: ['Hello.'],
  },
  'server tool': {
    turns: () => [[call('now')], [text('Noon.')]],
    play: ({ chat }) => answering(chat, 2, true),
    shows: [['output-available', { time: 'noon' }], 'Noon.'],
  },
  approval: {
    turns: () => [[calls(pay(5))], [text('Paid.')]],
    play: ({ chat }) => answering(chat, 2, true),
    shows: [paid(5, 995), 'Paid.'],
  },
  denial: {
    turns: () => [[calls(pay(5))], [text('Not paid.')]],
    play: ({ chat }) => answering(chat, 2, false),
    shows: [denied, 'Not paid.'],
  },
  'browser tool': {
    turns: () => [[calls(music)], [text('Playing.')]],
    play: ({ chat }) => answering(chat, 2, true),
    shows: [played, 'Playing.'],
  },
  'two approvals': {
    turns: () => [[calls(pay(5), pay(6))], [text('Paid both.')]],
    play: ({ chat }) => answering(chat, 3, true),
    shows: [paid(5, 995), paid(6, 989), 'Paid both.'],
  },
  'approval and browser tool': {
    turns: () => [[calls(pay(5), music)], [text('Both done.')]],
    play: ({ chat }) => answering(chat, 3, true),
    shows: [paid(5, 995), played, 'Both done.'],
  },
  resume: {
    turns: counting,
    async play({ chat, cut, go, recover }) {
      await begin(chat);
      cut();
      if (recover) await settledAt(chat, 'error');
      const recovered = recover?.(chat);
      if (recover) await settledAt(chat, 'streaming');
      go();
      await recovered;
      await settledAt(chat, 'ready');
      return chat;
    },
    shows: ['One two.'],
  },
  reload: {
    turns: counting,
    async play({ chat, go, reload }) {
      await begin(chat);
      const again = await reload();
      const resumed = again.resumeStream();
      await turns(() => shownBy(again).includes('One '));
      go();
      await resumed;
      await settledAt(again, 'ready');
      return again;
    },
    shows: ['One two.'],
  },
  stop: {
    turns: counting,
    async play({ chat, stop, isRunning }) {
      await begin(chat);
      await stop(chat);
      await settledAt(chat, 'ready');
      let tries = 0;
      while (await isRunning()) if (++tries > 1000) throw new Error('The agent still runs.');
      return chat;
    },
    shows: ['One '],
  },
};
