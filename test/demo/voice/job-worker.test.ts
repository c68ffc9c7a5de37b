import type { Worker } from 'node:worker_threads';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { JobWorker } from '../../../demo/server/voice/job-worker.ts';

/** A thread that repeats the letters of what it is given; "die" ends it, "fail" fails, "hang" never ends. */
const FILE = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', (job) => {
      if (job === 'die') process.exit(1);
      if (job === 'fail') return parentPort.postMessage({ error: 'it failed' });
      if (job === 'hang') return parentPort.postMessage({ value: 'h' });
      for (const value of job) parentPort.postMessage({ value });
      parentPort.postMessage({ end: true });
    });
  `)}`,
);

let worker = new JobWorker(FILE, '');
afterEach(async () => {
  await worker.close();
  worker = new JobWorker(FILE, '');
});

async function run(job: string, signal = new AbortController().signal): Promise<string> {
  let all = '';
  for await (const value of worker.run(job, signal)) all += String(value);
  return all;
}

test('jobs of several people are done one after the other, each whole', async () => {
  const jobs = Array.from({ length: 20 }, (_, i) => `job${i}`);
  expect(await Promise.all(jobs.map((job) => run(job)))).toEqual(jobs);
});

test('a thread that dies takes its job along, and the next job has a new one', async () => {
  const died = run('die');
  const after = run('after');
  await expect(died).rejects.toThrow('its worker thread ended');
  expect(await after).toBe('after');
});

test('it is free when nothing is being done and nothing waits', async () => {
  expect(worker.isFree).toBe(true);
  const job = run('job');
  expect(worker.isFree).toBe(false);
  await job;
  expect(worker.isFree).toBe(true);
});

test('a job that fails says why, and the next is done', async () => {
  await expect(run('fail')).rejects.toThrow('it failed');
  expect(await run('next')).toBe('next');
});

test('who stops waiting for a job that waits costs nothing', async () => {
  const stop = new AbortController();
  const first = run('first');
  const second = run('second', stop.signal);
  stop.abort();
  expect([await first, await second, await run('third')]).toEqual(['first', '', 'third']);
});

test('who stops waiting in the middle of a job is let go at once', async () => {
  const stop = new AbortController();
  const values: unknown[] = [];
  for await (const value of worker.run('hang', stop.signal)) {
    values.push(value);
    stop.abort();
  }
  expect(values).toEqual(['h']);
});

test('more jobs than anyone would wait for are refused, and those that wait are done', async () => {
  const jobs = Array.from({ length: 40 }, (_, i) => run(`job${i}`));
  const done = await Promise.allSettled(jobs);
  // One is being done while 32 wait.
  expect(done.map(({ status }) => status)).toEqual([
    ...Array.from({ length: 33 }, () => 'fulfilled'),
    ...Array.from({ length: 7 }, () => 'rejected'),
  ]);
  await expect(jobs.at(-1)).rejects.toThrow('too many requests are waiting');
});

test('who stops waiting makes room', async () => {
  const stop = new AbortController();
  const hanging = run('first');
  const waiting = Array.from({ length: 32 }, () => run('job', stop.signal));
  const refused = run('refused');
  stop.abort();
  const taken = run('taken');
  await expect(refused).rejects.toThrow('too many requests are waiting');
  expect([await hanging, await taken, (await Promise.all(waiting)).join('')]).toEqual(['first', 'taken', '']);
});

test('a thread that is started for a job to come does it, and one that nothing comes for ends', async () => {
  const started: Worker[] = [];
  const watch = (thread: Worker) => void started.push(thread);
  process.on('worker', watch);
  onTestFinished(() => void process.off('worker', watch));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  worker.warm();
  worker.warm();
  expect([await run('job'), started.length]).toEqual(['job', 1]);
  const ended = new Promise((resolve) => started[0]?.once('exit', resolve));
  vi.advanceTimersByTime(60_000);
  await ended;
  expect([await run('next'), started.length]).toEqual(['next', 2]);
});

test('closing ends what is being done and what waits', async () => {
  const hanging = run('hang');
  const waiting = run('waiting');
  const both = Promise.allSettled([hanging, waiting]);
  await worker.close();
  expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
