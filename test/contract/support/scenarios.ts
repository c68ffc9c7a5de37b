import type { BaseTool, LlmResponse } from '@google/adk';
import type { Executors } from '../../../src/client/index.ts';
import type { DuologueOptions } from '../../../src/server/index.ts';
import { fourTools } from '../../support/demo-tools.ts';
import { calls, partial, type ScriptedTurn, streamed, text } from '../../support/scripted-model.ts';

/** A red dot, one pixel. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The user's decisions, by call id. */
export type Decisions = Readonly<Record<string, { approved: boolean; reason?: string }>>;

/** How many requests a scenario takes: posts over SSE, frames over the socket. */
export interface Sends {
  sse: number;
  stock: number;
  bidi: { message: number; tool_result: number };
}

/** One conversation: the model's turns, the user's actions, and the expected result. */
export interface Scenario {
  name: string;
  says?: { text: string; files?: { type: 'file'; mediaType: string; url: string }[] };
  turns: () => ScriptedTurn[];
  tools?: (log: string[]) => BaseTool[];
  decisions?: Decisions;
  /** Outputs of browser tools, by name: the transport runs the tool where it can, else the page sends the output. */
  outputs?: Readonly<Record<string, unknown>>;
  /** Whether the transport runs the browser tools. */
  hasExecutors?: boolean;
  options?: Partial<DuologueOptions>;
  sends: Sends;
  /** The answer in short: text by its words, calls by id and end. */
  answer: unknown[];
  /** What ran on the server, in order. */
  ran?: string[];
  /** Whether the tools may run in any order, because the user may decide before a call that asks nothing is stored. Then `ran` is sorted. */
  ranInAnyOrder?: boolean;
  fails?: boolean;
}

const pay = (id: string, recipient: string, amount: number) => ({
  id,
  name: 'process_payment',
  args: { amount, recipient },
});
const ALICE = pay('call-a', 'Alice', 30);
const BOB = pay('call-b', 'Bob', 40);
const OSLO = { id: 'call-w', name: 'get_weather', args: { location: 'Oslo' } };
const WHERE = { id: 'call-l', name: 'get_location', args: {} };
const MUSIC = { id: 'call-m', name: 'change_bgm', args: { track: 1 } };

const paid = (recipient: string, amount: number, wallet_balance: number) => ({
  success: true,
  recipient,
  amount,
  wallet_balance,
});
const sunny = { location: 'Oslo', temperature: 20 };
const here = { latitude: 35.7, longitude: 139.7 };
const DENIED = 'User denied the tool call';

const once = (bidi = 1): Sends => ({ sse: 1, stock: 1, bidi: { message: bidi, tool_result: 0 } });
const twice = (bidi = 2): Sends => ({ sse: 2, stock: 2, bidi: { message: bidi, tool_result: 0 } });

/** A model answer with a picture. */
function picture(words: string): LlmResponse {
  return {
    content: {
      role: 'model',
      parts: [{ text: words }, { inlineData: { mimeType: 'image/png', data: PNG } }],
    },
    partial: false,
  };
}

const mixes: Scenario[] = [
  [true, true],
  [true, false],
  [false, true],
  [false, false],
].map(([first = false, second = false]) => ({
  name: `two cards, ${first ? 'approved' : 'denied'} and ${second ? 'approved' : 'denied'}`,
  turns: () => [[calls(ALICE, BOB)], streamed('That ', 'is ', 'that.')],
  tools: (log) => [fourTools(log).payment],
  decisions: { 'call-a': { approved: first }, 'call-b': { approved: second } },
  sends: twice(3),
  answer: [
    first
      ? ['call-a', 'output-available', true, paid('Alice', 30, 970)]
      : ['call-a', 'output-error', false, DENIED],
    second
      ? ['call-b', 'output-available', true, paid('Bob', 40, first ? 930 : 960)]
      : ['call-b', 'output-error', false, DENIED],
    'That is that.',
  ],
  ran: [...(first ? ['pay Alice 30'] : []), ...(second ? ['pay Bob 40'] : [])],
}));

const besides: Scenario[] = [
  [OSLO, ALICE],
  [ALICE, OSLO],
].map((order) => ({
  name: `a plain tool ${order[0] === OSLO ? 'before' : 'after'} one that asks`,
  turns: () => [[calls(...order)], streamed('All ', 'done.')],
  tools: (log) => [fourTools(log).payment, fourTools(log).weather],
  decisions: { 'call-a': { approved: true } },
  sends: twice(),
  answer: [
    ...order.map((one) =>
      one === OSLO
        ? ['call-w', 'output-available', sunny]
        : ['call-a', 'output-available', true, paid('Alice', 30, 970)],
    ),
    'All done.',
  ],
  ran: ['pay Alice 30', 'weather Oslo'],
  ranInAnyOrder: true,
}));

/** A browser tool, run by the transport or by the page. */
function browser(hasExecutors: boolean): Scenario[] {
  const how = hasExecutors ? 'run by the transport' : 'brought by the page';
  return [
    {
      name: `a browser tool ${how}`,
      turns: () => [[calls(MUSIC)], streamed('Music ', 'plays.')],
      tools: (log) => [fourTools(log).music],
      outputs: { change_bgm: { playing: 1 } },
      hasExecutors,
      sends: {
        sse: 2,
        stock: 2,
        bidi: hasExecutors ? { message: 1, tool_result: 1 } : { message: 2, tool_result: 0 },
      },
      answer: [['call-m', 'output-available', { playing: 1 }], 'Music plays.'],
    },
    {
      name: `a browser tool that asks, ${how}`,
      turns: () => [[calls(WHERE)], streamed('You are ', 'in Tokyo.')],
      tools: (log) => [fourTools(log).location],
      decisions: { 'call-l': { approved: true } },
      outputs: { get_location: here },
      hasExecutors,
      sends: {
        sse: 2,
        stock: 3,
        bidi: hasExecutors ? { message: 2, tool_result: 1 } : { message: 2, tool_result: 0 },
      },
      answer: [['call-l', 'output-available', true, here], 'You are in Tokyo.'],
    },
  ];
}

const LONG = Array.from({ length: 2000 }, (_, index) => `word${index} `);

/** The conversations that must end alike over every transport. */
export const scenarios: Scenario[] = [
  {
    name: 'text',
    turns: () => [streamed('Hel', 'lo', '!')],
    sends: once(),
    answer: ['Hello!'],
  },
  {
    name: 'thoughts before text',
    turns: () => [
      [
        partial('Let me ', true),
        partial('think.', true),
        partial('Four'),
        partial('.'),
        {
          content: { role: 'model', parts: [{ text: 'Let me think.', thought: true }, { text: 'Four.' }] },
          partial: false,
        },
      ],
    ],
    sends: once(),
    answer: ['Let me think.', 'Four.'],
  },
  {
    name: 'a server tool',
    turns: () => [[calls(OSLO)], streamed('Sunny', ', 20.')],
    tools: (log) => [fourTools(log).weather],
    sends: once(),
    answer: [['call-w', 'output-available', sunny], 'Sunny, 20.'],
    ran: ['weather Oslo'],
  },
  {
    name: 'text, a tool, text, a card, text',
    turns: () => [
      [
        partial('Looking. '),
        {
          content: { role: 'model', parts: [{ text: 'Looking. ' }, { functionCall: OSLO }] },
          partial: false,
        },
      ],
      [
        partial('Paying. '),
        {
          content: { role: 'model', parts: [{ text: 'Paying. ' }, { functionCall: ALICE }] },
          partial: false,
        },
      ],
      streamed('Done', '.'),
    ],
    tools: (log) => [fourTools(log).payment, fourTools(log).weather],
    decisions: { 'call-a': { approved: true } },
    sends: twice(),
    answer: [
      'Looking. ',
      ['call-w', 'output-available', sunny],
      'Paying. ',
      ['call-a', 'output-available', true, paid('Alice', 30, 970)],
      'Done.',
    ],
    ran: ['weather Oslo', 'pay Alice 30'],
  },
  ...mixes,
  ...besides,
  ...browser(true),
  ...browser(false),
  {
    name: 'a denial with a reason',
    turns: () => [[calls(ALICE)], [text('Then not.')]],
    tools: (log) => [fourTools(log).payment],
    decisions: { 'call-a': { approved: false, reason: 'too much' } },
    sends: twice(),
    answer: [['call-a', 'output-error', false, `${DENIED}: too much`], 'Then not.'],
    ran: [],
  },
  {
    name: 'a picture in',
    says: {
      text: 'what is this',
      files: [{ type: 'file', mediaType: 'image/png', url: `data:image/png;base64,${PNG}` }],
    },
    turns: () => [streamed('A ', 'dot.')],
    sends: once(),
    answer: ['A dot.'],
  },
  {
    name: 'a picture out',
    turns: () => [[picture('Here.')]],
    sends: once(),
    answer: ['Here.', 'file'],
  },
  {
    name: 'a failure of the model in mid-sentence',
    turns: () => [[partial('Once '), new Error('503 overloaded')]],
    sends: once(),
    answer: ['Once '],
    fails: true,
  },
  {
    name: 'a long answer',
    turns: () => [streamed(...LONG)],
    sends: once(),
    answer: [LONG.join('')],
  },
];

/** The executors of a scenario. */
export function executorsOf(scenario: Scenario, ran: string[]): Executors {
  if (!scenario.hasExecutors) return {};
  return Object.fromEntries(
    Object.entries(scenario.outputs ?? {}).map(([name, output]) => [
      name,
      () => {
        ran.push(name);
        return output;
      },
    ]),
  );
}
