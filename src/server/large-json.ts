import { Worker } from 'node:worker_threads';
import { ProtocolError } from '../protocol/index.ts';
import { ShuttingDown } from './nodes/elsewhere.ts';

/** JSON of more bytes than this is parsed in a worker thread, because parsing it would block the event loop. */
export const LARGE_JSON = 256 * 1024;

/** The largest number of values in a JSON text that the worker parses. A text of `LARGE_JSON` bytes cannot have more. */
const MAX_VALUES = LARGE_JSON / 2;
/** Objects and arrays at a greater depth are replaced by null. The server reads no field that is nested so deep. */
const MAX_DEPTH = 200;
const MAX_HEAP_MB = 256;

/**
 * The code of the worker thread, as text, because a bundler would not find a separate file. It returns only the last of the `messages`, because the server
 * reads no other (rule C14 of PROTOCOL.md), and passing values between threads costs as much as parsing them.
 */
const THREAD = `
  const { parentPort, workerData: { maxValues, maxDepth } } = require('node:worker_threads');
  const isRecord = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
  function keepLast(record) {
    if (isRecord(record) && Array.isArray(record.messages)) record.messages = record.messages.slice(-1);
  }
  function prune(value, depth, seen) {
    if (++seen.count > maxValues) throw new RangeError('too many values');
    if (typeof value !== 'object' || value === null) return value;
    if (depth === 0) return null;
    if (Array.isArray(value)) for (let i = 0; i < value.length; i++) value[i] = prune(value[i], depth - 1, seen);
    else for (const key in value) value[key] = prune(value[key], depth - 1, seen);
    return value;
  }
  function read(bytes) {
    let value;
    try {
      value = JSON.parse(new TextDecoder().decode(bytes));
    } catch {
      return { fault: 'json' };
    }
    keepLast(value);
    if (isRecord(value)) keepLast(value.data);
    try {
      return { value: prune(value, maxDepth, { count: 0 }) };
    } catch {
      return { fault: 'values' };
    }
  }
  parentPort.on('message', (bytes) => parentPort.postMessage(read(bytes)));
`;

type Answer = { value: unknown } | { fault: 'json' | 'values' };

interface Job {
  bytes: Uint8Array<ArrayBuffer>;
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/** Parses large JSON in a thread, one at a time. The thread starts at its first use. */
export class LargeJson {
  private readonly waiting: Job[] = [];
  private current: Job | null = null;
  private worker: Worker | null = null;
  private isClosed = false;

  /**
   * Resolves with the value, which has only the last of its `messages`. The caller must not use the bytes afterwards. Rejects with a SyntaxError, with
   * `too_large`, or with `shutting_down` when the parser is closed.
   */
  parse(bytes: Uint8Array): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.isClosed) return reject(new ShuttingDown());
      this.waiting.push({ bytes: ownBytes(bytes), resolve, reject });
      this.next();
    });
  }

  /** Ends the thread, and rejects the texts that it has not parsed. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const { reject } of this.waiting.splice(0)) reject(new ShuttingDown());
    await this.worker?.terminate();
  }

  private next(): void {
    if (this.current) return;
    const job = this.waiting.shift();
    if (!job) return;
    this.current = job;
    this.worker ??= this.start();
    this.worker.postMessage(job.bytes, [job.bytes.buffer]);
  }

  private start(): Worker {
    const worker = new Worker(THREAD, {
      eval: true,
      execArgv: [],
      env: {},
      workerData: { maxValues: MAX_VALUES, maxDepth: MAX_DEPTH },
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    worker.unref();
    worker.on('message', (answer: Answer) => {
      if ('value' in answer) this.settle((job) => job.resolve(answer.value));
      else if (answer.fault === 'json')
        this.settle((job) => job.reject(new SyntaxError('The body is not JSON.')));
      else this.settle((job) => job.reject(tooMuch()));
    });
    worker.on('error', () => undefined);
    // A text that needs more memory than the thread may use ends the thread, not the process. The next job starts a new thread.
    worker.on('exit', () => {
      this.worker = null;
      this.settle((job) => job.reject(this.isClosed ? new ShuttingDown() : tooMuch()));
    });
    return worker;
  }

  private settle(answer: (job: Job) => void): void {
    const job = this.current;
    this.current = null;
    if (job) answer(job);
    this.next();
  }
}

function tooMuch(): ProtocolError {
  return new ProtocolError('too_large', `The JSON has more than ${MAX_VALUES} values. Send less at once.`);
}

/**
 * Returns the bytes in a buffer that holds nothing else, so that the buffer can be transferred to the thread. Copies the bytes only if the buffer has other
 * bytes too.
 */
function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength
    ? new Uint8Array(buffer)
    : new Uint8Array(bytes);
}
