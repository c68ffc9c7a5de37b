import { afterEach, expect, test } from 'vitest';
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
  await expect(died).rejects.toThrow('the thread that does it ended');
  expect(await after).toBe('after');
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

test('closing ends what is being done and what waits', async () => {
  const hanging = run('hang');
  const waiting = run('waiting');
  const both = Promise.allSettled([hanging, waiting]);
  await worker.close();
  expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
