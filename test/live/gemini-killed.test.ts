import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeGeminiLive } from '../support/gemini-live/fake-gemini-live.ts';
import { decision } from '../support/live.ts';
import { TestSocket } from '../support/socket.ts';

const program = fileURLToPath(new URL('support/live-tools-server.ts', import.meta.url));

let folder: string;
let fake: FakeGeminiLive;
let server: ChildProcess | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'duologue-killed-'));
  fake = await FakeGeminiLive.start({ model: 'gemini-3.8-live' });
});
afterEach(async () => {
  await kill();
  await fake.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a server in a process of its own, and joins the conversation there. */
async function joinAgain(env: Record<string, string> = {}): Promise<TestSocket> {
  const child = spawn(process.execPath, ['--import', 'tsx', program, folder], {
    env: { PATH: process.env.PATH ?? '', ...fake.environment, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  server = child;
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const socket = new TestSocket(`${line.toString().trim().replace('http', 'ws')}/live?session=killed`);
  await socket.opened();
  return socket;
}

/** Ends the server as a crash does. */
async function kill(): Promise<void> {
  const child = server;
  server = undefined;
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

const paid = () => readFileSync(join(folder, 'paid'), 'utf8');
const cards = (socket: TestSocket) => socket.chunks.filter(({ type }) => type === 'tool-approval-request');
const answers = () =>
  fake
    .sent('toolResponse')
    .flatMap((sent) => (sent as { functionResponses: { id: string }[] }).functionResponses)
    .map(({ id }) => id);

describe('a server that is killed in the middle of a call, with a model that makes it again', () => {
  it('[T4] [T15] while its card is open: there is no second card, and it is paid once', async () => {
    const first = await joinAgain();
    first.say('send 30 dollars to Alice');
    const card = await first.chunk('tool-approval-request');
    await kill();
    fake.callsAgain = true;
    const second = await joinAgain();
    second.send('message', decision(card));
    await second.done();
    expect([paid(), cards(second), fake.refused]).toEqual(['30 to Alice\n', [], []]);
    expect(answers()).toEqual(['function-call-1', 'function-call-2']);
    expect(fake.sessions.size).toBe(1);
  });

  it('[T4] [T15] when it was paid and the model has not heard of it: the model is told, and nothing is paid again', async () => {
    const first = await joinAgain();
    first.say('send 30 dollars to Alice');
    fake.losesResponses = true;
    first.send('message', decision(await first.chunk('tool-approval-request')));
    await fake.until(() => answers().length === 1);
    await kill();
    fake.losesResponses = false;
    fake.callsAgain = true;
    const second = await joinAgain();
    second.say('hello');
    await second.done();
    await fake.until(() => answers().includes('function-call-2'));
    expect([paid(), cards(second), fake.refused]).toEqual(['30 to Alice\n', [], []]);
    expect(fake.session.pending.size).toBe(0);
  });

  it('[T15] while it pays: the outcome is unknown, the model is told so, and nothing is paid again', async () => {
    const first = await joinAgain({ DIES: '1' });
    first.say('send 30 dollars to Alice');
    first.send('message', decision(await first.chunk('tool-approval-request')));
    await first.closed();
    fake.callsAgain = true;
    const second = await joinAgain();
    second.say('hello');
    await second.done();
    await fake.until(() => answers().includes('function-call-2'));
    expect([paid(), cards(second), fake.refused]).toEqual(['30 to Alice\n', [], []]);
    expect(JSON.stringify(fake.sent('toolResponse'))).toContain('The outcome is unknown');
  });
});
