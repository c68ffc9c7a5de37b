import { Worker } from 'node:worker_threads';

/** The messages of a worker thread about a job: values, then its end. */
export type JobMessage = { value: unknown } | { end: true } | { error: string };

interface Job {
  input: unknown;
  signal: AbortSignal;
  take: (message: JobMessage) => void;
}

/** An idle worker thread ends after this time. */
const IDLE_MS = 60_000;
/** A job that takes longer counts as hung, and its thread is terminated. */
const LONGEST_MS = 60_000;
/** The longest queue. Further jobs are rejected, because they would finish too late. */
const MOST_WAITING = 32;
/** The heap limit of the thread's JavaScript. Its WebAssembly needs as much memory as the models. */
const MEMORY_MB = 512;

/**
 * A worker thread that does one job at a time, in order of arrival. The thread is started for the first job, and ends after a
 * minute without jobs. When it dies, its current job fails, and the next job starts another thread.
 */
export class JobWorker {
  private readonly file: URL;
  private readonly folder: string;
  private jobs: Job[] = [];
  private worker: Worker | undefined;
  private current: Job | undefined;
  private idle: NodeJS.Timeout | undefined;
  private deadline: NodeJS.Timeout | undefined;

  constructor(file: URL, folder: string) {
    this.file = file;
    this.folder = folder;
  }

  /** Whether no job runs or waits. An optional job delays no other then. */
  get isFree(): boolean {
    return this.current === undefined && this.jobs.length === 0;
  }

  /** Starts the thread for an expected job, so that its models are loaded by then. */
  warm(): void {
    this.worker ??= this.start();
    this.next();
  }

  /** Runs a job and yields its values as they arrive. Throws when the queue is full, and when the job fails; ends early on `signal`. */
  async *run(input: unknown, signal: AbortSignal): AsyncGenerator<unknown, void> {
    const messages: JobMessage[] = [];
    let wake = () => {};
    const take = (message: JobMessage) => {
      messages.push(message);
      wake();
    };
    if (this.jobs.length >= MOST_WAITING)
      throw new Error('too many requests are waiting. Try again in a moment.');
    const job: Job = { input, signal, take };
    const stop = () => {
      this.jobs = this.jobs.filter((other) => other !== job);
      take({ end: true });
    };
    signal.addEventListener('abort', stop, { once: true });
    this.jobs.push(job);
    this.next();
    try {
      while (!signal.aborted) {
        const message = messages.shift();
        if (message === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        } else if ('error' in message) throw new Error(message.error);
        else if ('end' in message) return;
        else yield message.value;
      }
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.deadline);
    const open = [...(this.current ? [this.current] : []), ...this.jobs.splice(0)];
    this.current = undefined;
    for (const job of open) job.take({ error: 'voice was switched off' });
    clearTimeout(this.idle);
    await this.end();
  }

  private async end(): Promise<void> {
    const { worker } = this;
    this.worker = undefined;
    await worker?.terminate();
  }

  private next(): void {
    if (this.current) return;
    const job = this.jobs.shift();
    clearTimeout(this.idle);
    if (!job) {
      this.idle = setTimeout(() => this.end().catch(() => undefined), IDLE_MS).unref();
      return;
    }
    this.current = job;
    this.worker ??= this.start();
    this.worker.postMessage(job.input);
    this.deadline = setTimeout(() => {
      this.end().catch(() => undefined);
      this.settle({ error: 'it took too long' });
    }, LONGEST_MS).unref();
  }

  /** Finishes the current job and starts the next one. */
  private settle(message: JobMessage): void {
    clearTimeout(this.deadline);
    this.current?.take(message);
    this.current = undefined;
    this.next();
  }

  private start(): Worker {
    const worker = new Worker(this.file, {
      workerData: { folder: this.folder },
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    worker.unref();
    let reason = 'its worker thread ended';
    worker.on('message', (message: JobMessage) => {
      if (this.worker !== worker) return;
      if ('value' in message) this.current?.take(message);
      else this.settle(message);
    });
    worker.on('error', (error: unknown) => {
      reason = error instanceof Error ? error.message : String(error);
    });
    worker.on('exit', () => {
      if (this.worker !== worker) return;
      this.worker = undefined;
      this.settle({ error: reason });
    });
    return worker;
  }
}
