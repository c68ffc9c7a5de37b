/** A program of a user that has the packed library. It plays the tools of `tools.ts` in both modes, and prints what it saw as JSON. */
import { LlmAgent, LogLevel, setLogLevel } from '@google/adk';
import { DuologueSseTransport, DuologueTransport } from 'duologue/client';
import { ProtocolError } from 'duologue/protocol';
import {
  createDuologue,
  createMemoryStore,
  type DuologueOptions,
  type ServerEvent,
  type ServerEventName,
  type ServerEventOf,
} from 'duologue/server';
import { FakeTime, type ScriptTurn, scriptModel, type TestTurn, testClient } from 'duologue/testing';
import { all, data, decisions } from './tools.ts';

setLogLevel(LogLevel.ERROR);
const seen: Record<string, unknown> = {};

const codeOf = (error: unknown): string | null => (error instanceof ProtocolError ? error.code : null);

/** Advances the time of a server until a turn is over. */
async function inTime(time: FakeTime, turn: Promise<TestTurn>): Promise<TestTurn> {
  let isOver = false;
  void turn.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    time.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return turn;
}

/** The outcomes of the calls of a turn. */
const outputs = ({ toolCalls }: TestTurn): unknown[] =>
  toolCalls.map(({ output, errorText }) => output ?? errorText);

/** What the tools of a turn reported before their output. */
const progressIn = ({ chunks }: TestTurn): unknown[] =>
  chunks.flatMap((chunk) =>
    chunk.type === 'tool-output-available' && chunk.preliminary === true ? [chunk.output] : [],
  );

const script: ScriptTurn[] = [
  { call: 'pay', args: { amount: 50 } },
  'Paid.',
  [
    { call: 'pay', args: { amount: 5, to: 'Ken' } },
    { call: 'pay', args: { amount: 5000 } },
  ],
  'One of two.',
  [
    { call: 'print', args: { pages: 2 } },
    { call: 'print', args: { pages: 1 } },
  ],
  'Printed.',
  { call: 'scan' },
  'Not scanned.',
  { call: 'plot' },
  'Drawn.',
  { call: 'report' },
  'Written.',
  { call: 'get_location' },
  'Found.',
  'I read the file.',
  { call: 'play', args: { track: 2 } },
  'Playing.',
  { call: 'pay', args: { amount: 60 } },
  'As you wish.',
  { call: 'pay', args: { amount: 70 } },
  'Too late.',
];

for (const over of ['sse', 'bidi'] as const) {
  const time = new FakeTime();
  const options: DuologueOptions = {
    agent: new LlmAgent({ name: 'assistant', model: scriptModel(script), tools: all }),
    data,
    attachments: ['image/*', 'text/csv'],
    artifacts: { maxBytes: 1000, maxUserBytes: 10_000 },
    toolRequest: { headers: ['accept-language'], body: ['shop'] },
    authenticate: (request) => request.headers.get('x-user'),
    clock: time,
    logger: { info() {}, warn() {}, error() {} },
  };
  const duologue = createDuologue(options);
  const events: ServerEventName[] = [];
  const follow = ({ name }: ServerEvent): number => events.push(name);
  const offs = (['session-created', 'turn-started', 'tool-finished', 'session-deleted'] as const).map(
    (name) => duologue.on(name, follow),
  );
  const decided: ServerEventOf<'approval-decided'>[] = [];
  duologue.on('approval-decided', (event) => decided.push(event));
  duologue.on('turn-finished', ({ outcome, usage }) => [outcome.length, usage?.total?.toFixed()]);

  const headers = { 'x-user': 'ann', 'accept-language': 'de' };
  const tools = { get_location: () => ({ latitude: 35 }), play: () => ({ playing: 2 }) };
  const chat = testClient(duologue, { over, headers, tools });
  const results: unknown[] = [];

  const asked = await chat.say('Pay 50');
  results.push(asked.approvals.map(({ toolName, input, message }) => [toolName, input, message]));
  results.push(
    outputs(await chat.approve('pay')),
    decided.map(({ decision, by }) => [decision, by]),
  );
  results.push(outputs(await chat.say('Pay two bills')));
  const printed = await chat.say('Print');
  results.push(outputs(printed), progressIn(printed).length > 0);
  results.push(outputs(await inTime(time, chat.say('Scan'))));
  const drawn = await chat.say('Draw', { metadata: { page: 'cart' }, body: { shop: 'Kyoto' } });
  results.push(outputs(drawn), progressIn(drawn), chat.messages.at(-1)?.metadata);
  results.push(drawn.chunks.flatMap((chunk) => (chunk.type.startsWith('data-') ? [chunk] : [])));
  results.push(drawn.transientData);

  // A file that the agent saved, read by its address as a page does.
  const written = await chat.say('Report');
  results.push(outputs(written));
  for (const chunk of written.chunks) {
    if (chunk.type !== 'file') continue;
    const file = await duologue.fetch(new Request(new URL(chunk.url, 'http://localhost'), { headers }));
    results.push(chunk.mediaType, file.headers.get('content-disposition'), await file.text());
    const stranger = { headers: { ...headers, 'x-user': 'mallory' } };
    results.push(
      (await duologue.fetch(new Request(new URL(chunk.url, 'http://localhost'), stranger))).status,
    );
  }

  results.push(outputs(await chat.say('Where am I?')));
  const csv = { type: 'file', mediaType: 'text/csv', url: 'data:text/csv;base64,YSxiCg==' } as const;
  results.push((await chat.say('Read this', { files: [csv] })).text);
  const pdf = { ...csv, mediaType: 'application/pdf' };
  results.push(await chat.say('Read this', { files: [pdf] }).catch(codeOf));

  await chat.say('Play');
  results.push(outputs(await chat.approve()));
  const [request] = (await chat.say('Pay 60')).approvals;
  const denial = { approvalId: request?.approvalId ?? '', approved: false, reason: 'too much', by: 'mia' };
  await duologue.decide(denial);
  results.push((await chat.next()).text);
  const [waiting] = (await chat.say('Pay 70')).approvals;
  results.push((waiting?.expiresAt ?? 0) - time.now(), outputs(await inTime(time, chat.next())));
  await duologue.sessions.delete({ user: 'ann', id: chat.session });
  for (const off of offs) off();
  seen[over] = [...results, decisions.splice(0), [...new Set(events)]];
  await duologue.close();
}

// Errors that say what is wrong.
const agent = new LlmAgent({ name: 'assistant', model: scriptModel([]), tools: all });
const tries: (() => unknown)[] = [
  () => createDuologue({ agent }),
  // @ts-expect-error: the name is misspelt.
  () => createDuologue({ agent, data, atachments: [] }),
  () => createDuologue({ agent, data, attachments: ['pdf'] }),
  // @ts-expect-error: the store is a Promise of one.
  () => createDuologue({ agent, data, store: Promise.resolve(createMemoryStore()) }),
  // @ts-expect-error: this is no clock.
  () => createDuologue({ agent, data, clock: {} }),
  // @ts-expect-error: the name is misspelt.
  () => new DuologueTransport({ url: '/', executers: {} }),
  // @ts-expect-error: the address is a text.
  () => new DuologueSseTransport({ url: 5 }),
  // @ts-expect-error: an executor is a function.
  () => new DuologueTransport({ url: '/', executors: { play: 'music' } }),
];
seen.errors = tries.map((attempt) => {
  try {
    return attempt();
  } catch (error) {
    return (error as Error).message;
  }
});
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
