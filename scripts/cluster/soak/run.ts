/**
 * `npm run soak`: repeats every fault of nodes, PostgreSQL and Redis while sessions run behind a balancer that sends every connection
 * to the next node. It counts lost or duplicated text, calls that ran twice, and waiting times. `npm run soak -- --kills 20 --pauses 2` for fewer; Ctrl-C ends it after
 * the current round, and prints the results so far.
 */
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { auditOf, post } from '../../../test/cluster/support/group.ts';
import { answerBody, approve } from '../../../test/server/support/answers.ts';
import { say } from '../../../test/support/harness.ts';
import { SoakCluster } from './cluster.ts';
import { Page, sleep } from './page.ts';

const { values: wanted } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    pauses: { type: 'string', default: '20' },
    ends: { type: 'string', default: '20' },
    cuts: { type: 'string', default: '20' },
    restarts: { type: 'string', default: '10' },
    sessions: { type: 'string', default: '200' },
    voices: { type: 'string', default: '20' },
    same: { type: 'string', default: '100' },
    lease: { type: 'string', default: '5000' },
  },
});

const cluster = await SoakCluster.open(Number(wanted.lease));
const problems: string[] = [];
const complain = (what: string) => {
  problems.push(what);
  console.log(`PROBLEM: ${what}`);
};
let isEnding = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    isEnding = true;
  });
}
const pages: Page[] = [];
const newPage = () => {
  const page = new Page(() => cluster.url, complain);
  pages.push(page);
  return page.open();
};
const counted = (to: number) => Array.from({ length: to }, (_, index) => `${index + 1} `).join('');

/** The results of one kind of fault. */
interface Row {
  what: string;
  times: number;
  pauses: number[];
  answers: number;
  /** Answers whose `finish` chunk says that they were interrupted. */
  interrupted: number;
  resets: number;
  payments: number;
  unknown: number;
  problems: number;
}

/** Causes a fault while one session streams an answer and another waits for an approval. `over` ends the fault; `isHit` says whether it hit the owner. */
type Trouble = (
  talking: Page,
  paying: Page,
  index: number,
) => Promise<{ over: () => Promise<void>; isHit: boolean }>;

/** Causes a fault `times` times and checks the answer and the payment of each round. */
async function trouble(what: string, times: number, happen: Trouble): Promise<Row> {
  const row = emptyRow(what);
  const [talking, paying] = [await newPage(), await newPage()];
  for (let index = 0; index < times && !isEnding; index++) {
    const length = 60 + Math.floor(Math.random() * 60);
    const problemsBefore = problems.length;
    const resetsBefore = talking.resets + paying.resets;
    paying.say('pay');
    await paying.until(() => paying.card !== null, 'the card');
    const call = paying.card?.toolCallId ?? '';
    talking.say(`count ${length}`);
    await talking.until(() => talking.text.length > 20, 'the first words');
    talking.silence = 0;
    const { over, isHit } = await happen(talking, paying, index);
    paying.approve();
    await talking.until(() => talking.state !== 'waiting', 'the end of the answer');
    if (isHit) row.pauses.push(talking.silence);
    if (talking.state === 'whole' && talking.text !== counted(length))
      complain(`an answer is not whole: "${talking.text}" of ${length}`);
    if (!counted(length).startsWith(talking.text)) complain(`words were lost or doubled: "${talking.text}"`);
    await paying.until(() => paying.outputs.has(call), 'the payment');
    await over();
    if (talking.state === 'interrupted') row.interrupted++;
    // Both sessions must answer another message.
    for (const page of [talking, paying]) {
      await page.until(() => page.state !== 'waiting', 'rest');
      page.say('count 3');
      await page.until(() => page.state !== 'waiting', 'the next answer');
      if (page.text !== counted(3)) complain(`the next answer is "${page.text}"`);
    }
    checkPayment(call, paying.outputs.get(call) ?? '', row);
    row.times++;
    row.answers += 3;
    row.resets += talking.resets + paying.resets - resetsBefore;
    row.problems += problems.length - problemsBefore;
    console.log(`${what} ${index + 1} of ${times}: ${Math.round(row.pauses.at(-1) ?? 0)} ms`);
  }
  await checkAudit(paying.id, row);
  return row;
}

/** Checks that a call ran exactly once, or at most once when its outcome is "unknown". */
function checkPayment(call: string, output: string, row: Row): void {
  const times = cluster.payments.filter((one) => one === call).length;
  const isUnknown = output.includes('unknown');
  if (isUnknown) row.unknown++;
  else if (times === 1) row.payments++;
  if (times > 1) complain(`${call} was paid ${times} times`);
  if (!isUnknown && times !== 1) complain(`${call} was paid ${times} times, and the page says ${output}`);
}

/** Checks that the audit log has every approval issued, decided and consumed exactly once. */
async function checkAudit(id: string, row: Row): Promise<void> {
  const kinds = await auditOf(cluster.url, id);
  const count = (kind: string) => kinds.filter((one) => one === kind).length;
  const cards = row.times;
  if (count('issued') !== cards || count('approved') !== cards || count('consumed') !== cards)
    complain(`of ${cards} cards the log has ${kinds.join(' ')}`);
}

function emptyRow(what: string): Row {
  return {
    what,
    times: 0,
    pauses: [],
    answers: 0,
    interrupted: 0,
    resets: 0,
    payments: 0,
    unknown: 0,
    problems: 0,
  };
}

/** Chooses the owner of the page's session half of the time, else a random node. */
async function victimOf(page: Page, always = false) {
  const owner = await cluster.ownerOf(page.id);
  const victim = owner && (always || Math.random() < 0.5) ? owner : cluster.random();
  return { victim, isOwner: victim === owner };
}

const kill: Trouble = async (talking) => {
  const { victim, isOwner } = await victimOf(talking);
  const replaced = cluster.replace(victim, 'SIGKILL');
  return { over: () => replaced, isHit: isOwner };
};

const end: Trouble = async (talking) => {
  const { victim, isOwner } = await victimOf(talking);
  const replaced = cluster.replace(victim, 'SIGTERM');
  return { over: () => replaced, isHit: isOwner };
};

/** The owner is frozen for longer than its lease, another node handles the approval, and the old owner resumes. */
const pause: Trouble = async (talking, paying, index) => {
  const { victim, isOwner } = await victimOf(index % 2 === 0 ? talking : paying, true);
  victim.process.kill('SIGSTOP');
  return {
    isHit: isOwner && index % 2 === 0,
    async over() {
      victim.process.kill('SIGCONT');
      await sleep(1000);
    },
  };
};

/** A node loses its connection to PostgreSQL or Redis for up to three seconds. */
const cut: Trouble = async (talking, _paying, index) => {
  const { victim, isOwner } = await victimOf(talking);
  const wire = index % 2 === 0 ? victim.toPostgres : victim.toRedis;
  wire.cut();
  const mended = sleep(Math.random() * 3000).then(() => wire.mend());
  return { over: () => mended, isHit: isOwner };
};

const restartPostgres: Trouble = async (_talking, _paying, index) => {
  await cluster.postgres.stop(index % 2 === 0 ? 'fast' : 'immediate');
  const started = sleep(Math.random() * 1000).then(() => cluster.postgres.start());
  return { over: () => started, isHit: true };
};

const restartRedis: Trouble = async () => {
  await cluster.redis.kill();
  const started = sleep(Math.random() * 1000).then(() => cluster.redis.start());
  return { over: () => started, isHit: true };
};

/** Enough words that answers still stream when half of the sessions have started. */
const CROWD_WORDS = 300;

/** Many sessions stream answers at once, and one node is killed. */
async function crowd(count: number): Promise<Row> {
  const row = emptyRow(`${count} sessions at once, a node killed`);
  const all = await Promise.all(Array.from({ length: count }, newPage));
  const problemsBefore = problems.length;
  for (const page of all) page.say(`count ${CROWD_WORDS}`);
  const speaking = () => all.filter(({ text }) => text !== '').length;
  await all[0]?.until(() => speaking() > count / 2, 'the first words of half of them', 120_000);
  for (const page of all) page.silence = 0;
  await cluster.replace(cluster.random(), 'SIGKILL');
  await Promise.all(all.map((page) => page.until(() => page.state !== 'waiting', 'the end', 120_000)));
  for (const page of all) {
    row.pauses.push(page.silence);
    if (page.state === 'interrupted') row.interrupted++;
    else if (page.text !== counted(CROWD_WORDS)) complain(`an answer is not whole: "${page.text}"`);
    if (!counted(CROWD_WORDS).startsWith(page.text)) complain(`words were lost or doubled: "${page.text}"`);
    page.say('count 3');
  }
  await Promise.all(all.map((page) => page.until(() => page.state !== 'waiting', 'the next', 120_000)));
  for (const page of all) {
    if (page.text !== counted(3)) complain(`the next answer is "${page.text}"`);
    row.resets += page.resets;
    page.close();
  }
  row.times = 1;
  row.answers = 2 * count;
  row.problems = problems.length - problemsBefore;
  return row;
}

/** A user sends audio and receives audio through a node that does not own the session. */
async function voices(count: number): Promise<Row> {
  const row = emptyRow('spoken with through a node that is not the owner');
  const problemsBefore = problems.length;
  for (let index = 0; index < count; index++) {
    const owner = cluster.random();
    const other = cluster.nodes.find((node) => node !== owner) ?? owner;
    const page = new Page(() => other.url, complain);
    await post(owner.url, say('count 1', page.id));
    await page.open();
    page.speak(5 + (index % 5));
    await page.until(() => page.state !== 'waiting', 'the spoken answer');
    const length = Number(page.text.trim().split(' ').at(-1));
    await page.until(() => page.sound.length >= length, 'the sound', 10_000);
    const expected = Array.from({ length }, (_, at) => at + 1);
    if (page.sound.join(' ') !== expected.join(' ')) complain(`heard ${page.sound.join(' ')} of ${length}`);
    row.times++;
    row.answers++;
    page.close();
  }
  row.problems = problems.length - problemsBefore;
  return row;
}

/** The same approval, sent through two nodes at the same moment. */
async function sameAnswer(count: number): Promise<Row> {
  const row = emptyRow('one answer through two nodes at once');
  const problemsBefore = problems.length;
  for (let index = 0; index < count; index++) {
    const id = `s-${randomUUID()}`;
    const asked = await post(cluster.random().url, say('pay', id));
    const body = answerBody(asked, [approve()], id);
    await Promise.all(cluster.nodes.slice(0, 2).map((node) => post(node.url, body)));
    const call = asked.chunks.find((chunk) => chunk.type === 'tool-input-available');
    checkPayment(call?.type === 'tool-input-available' ? call.toolCallId : '', 'paid', row);
    row.times++;
    const kinds = await auditOf(cluster.url, id);
    if (kinds.join(' ') !== 'issued approved consumed') complain(`the log has ${kinds.join(' ')}`);
  }
  row.problems = problems.length - problemsBefore;
  return row;
}

const part = (values: number[], share: number) =>
  (values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0) /
  1000;

function print(rows: readonly Row[]): void {
  console.log(
    [
      `\nLease ${cluster.leaseMs / 1000} s.\n`,
      '| what | times | answers | of these cut | resets | pause p50 / p90 / max, s | paid | unknown | problems |',
      '|---|---|---|---|---|---|---|---|---|',
      ...rows.map((row) => {
        const pauses = [0.5, 0.9, 1].map((share) => part(row.pauses, share).toFixed(2)).join(' / ');
        return `| ${row.what} | ${row.times} | ${row.answers} | ${row.interrupted} | ${row.resets} | ${row.pauses.length ? pauses : ''} | ${row.payments} | ${row.unknown} | ${row.problems} |`;
      }),
      `\n${problems.length} problems`,
      ...problems,
    ].join('\n'),
  );
}

const rows: Row[] = [];
const kinds: [string, number, Trouble][] = [
  ['the owner frozen, then awake', Number(wanted.pauses), pause],
  ['a node ended in order', Number(wanted.ends), end],
  ['a node cut off from an engine', Number(wanted.cuts), cut],
  ['PostgreSQL restarted', Number(wanted.restarts), restartPostgres],
  ['Redis killed, back empty', Number(wanted.restarts), restartRedis],
  ['a node killed', Number(wanted.kills), kill],
];
try {
  if (Number(wanted.sessions) > 0) rows.push(await crowd(Number(wanted.sessions)));
  if (Number(wanted.voices) > 0) rows.push(await voices(Number(wanted.voices)));
  if (Number(wanted.same) > 0) rows.push(await sameAnswer(Number(wanted.same)));
  for (const [what, times, happen] of kinds) if (times > 0) rows.push(await trouble(what, times, happen));
} finally {
  print(rows);
  for (const page of pages) page.close();
  await cluster.close();
}
process.exit(problems.length === 0 ? 0 : 1);
