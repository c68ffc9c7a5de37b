import { randomUUID } from 'node:crypto';
import { WebSocket } from 'ws';
import { BlockDecoder, type Chunk, type Message, WATCHING_SUBPROTOCOL } from '../../../src/protocol/index.ts';

/** A page that waits for an answer reconnects after this time without any data, as our clients do. */
const SILENCE_MS = 3000;

/** The length of the header of an audio frame, in bytes. */
const SOUND_HEADER = 8;

/** A simulated page: it reconnects, sends a request again until it is acknowledged, and checks that every chunk arrives once. */
export class Page {
  readonly id = `s-${randomUUID()}`;
  /** The answer to the last message, as the page shows it. */
  text = '';
  /** The state of that answer. */
  state: 'waiting' | 'whole' | 'interrupted' = 'whole';
  resets = 0;
  /** The number of `data-session` chunks, one for each connection. */
  greetings = 0;
  card: { approvalId: string; toolCallId: string } | null = null;
  /** The outputs and errors of calls, by call id. */
  readonly outputs = new Map<string, string>();
  /** The first sample of each 20 ms of received audio. */
  readonly sound: number[] = [];
  /** The longest time without data since the last request, or since the test reset it to 0. */
  silence = 0;
  readonly #base: () => string;
  readonly #complain: (what: string) => void;
  readonly #looking: NodeJS.Timeout;
  #last = '';
  #heardAt = performance.now();
  #triedAt = performance.now();
  #socket: WebSocket | null = null;
  #isClosed = false;
  #pending: { requestId: string } | null = null;
  #waiting: (() => void)[] = [];

  constructor(base: () => string, complain: (what: string) => void) {
    this.#base = base;
    this.#complain = complain;
    // A frozen node keeps its connections open, so a page that waits for an answer must reconnect by itself.
    this.#looking = setInterval(() => {
      const waits = this.state === 'waiting' || this.#pending !== null;
      if (waits && performance.now() - Math.max(this.#heardAt, this.#triedAt) > SILENCE_MS) {
        this.#triedAt = performance.now();
        this.#socket?.terminate();
      }
    }, 250);
  }

  async open(): Promise<this> {
    while (!this.#isClosed && !(await this.#attempt())) await sleep(50 + Math.random() * 100);
    return this;
  }

  say(text: string): void {
    this.text = '';
    this.card = null;
    this.#send({ messages: [{ id: randomUUID(), role: 'user', parts: [{ type: 'text', text }] }] });
  }

  /** Approves the pending call. */
  approve(): void {
    if (!this.card) return;
    const { approvalId, toolCallId } = this.card;
    const part = {
      type: 'tool-pay',
      toolCallId,
      state: 'approval-responded',
      approval: { id: approvalId, approved: true },
    };
    this.#send({ messages: [{ id: 'assistant', role: 'assistant', parts: [part] }] });
  }

  /** Sends audio that lasts so many tenths of a second. */
  speak(tenths: number): void {
    this.text = '';
    this.state = 'waiting';
    this.#frame('audio_control', { action: 'start' });
    const tone = Int16Array.from({ length: 1600 }, (_, at) => Math.round(8000 * Math.sin(at / 5)));
    const chunk = Buffer.from(tone.buffer).toString('base64');
    for (let at = 0; at < tenths; at++) this.#frame('audio_chunk', { chunk });
    this.#frame('audio_control', { action: 'stop' });
  }

  async until(condition: () => boolean, what: string, ms = 60_000): Promise<boolean> {
    const end = performance.now() + ms;
    while (!condition()) {
      if (performance.now() > end) {
        this.#complain(`${what} did not come in ${this.id} (${this.state}, "${this.text.slice(-40)}")`);
        return false;
      }
      await Promise.race([sleep(50), new Promise<void>((done) => this.#waiting.push(done))]);
    }
    return true;
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#looking);
    this.#socket?.terminate();
  }

  #frame(type: string, data: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN)
      this.#socket.send(JSON.stringify({ type, version: '1.0', data }));
  }

  #send(data: object): void {
    this.state = 'waiting';
    this.#heardAt = performance.now();
    this.silence = 0;
    this.#pending = { requestId: randomUUID(), ...data };
    this.#sendPending();
  }

  /** Sends an unacknowledged request again, with the same request id, to the node of the current connection. */
  #sendPending(): void {
    if (this.#pending) this.#frame('message', this.#pending);
  }

  #attempt(): Promise<boolean> {
    const query = `?session=${this.id}${this.#last && `&last=${this.#last}`}`;
    const socket = new WebSocket(`${this.#base().replace('http', 'ws')}/live${query}`, [
      WATCHING_SUBPROTOCOL,
    ]);
    const decoder = new BlockDecoder();
    return new Promise((done) => {
      socket.on('error', () => undefined);
      socket.once('open', () => {
        this.#socket = socket;
        done(true);
      });
      socket.on('message', (data: Buffer, isBinary: boolean) => {
        if (isBinary) return void this.#hear(data);
        for (const { id, data: value } of decoder.push(data.toString('utf8'))) this.#take(value, id);
      });
      socket.once('close', () => {
        done(false);
        if (this.#socket === socket && !this.#isClosed) {
          this.#socket = null;
          this.open().catch(() => undefined);
        }
      });
    });
  }

  #hear(frame: Buffer): void {
    this.#sign();
    for (let at = SOUND_HEADER; at + 1 < frame.length; at += 960) this.sound.push(frame.readInt16LE(at));
  }

  #sign(): void {
    const now = performance.now();
    this.silence = Math.max(this.silence, now - this.#heardAt);
    this.#heardAt = now;
  }

  #take(value: string, id: string | undefined): void {
    this.#sign();
    const chunk = value === '[DONE]' ? null : (JSON.parse(value) as Chunk);
    if (id) this.#follow(id, chunk);
    if (chunk) this.#apply(chunk);
    else if (this.state === 'waiting') this.state = 'whole';
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Checks that every chunk of a log arrives once, in order. */
  #follow(id: string, chunk: Chunk | null): void {
    const [epoch, seq] = splitId(id);
    const [lastEpoch, lastSeq] = splitId(this.#last);
    this.#last = id;
    // These two chunks set the position in the log and may repeat an id.
    if (chunk?.type === 'data-session' || chunk?.type === 'data-reset') return;
    if (epoch === lastEpoch && seq <= lastSeq)
      this.#complain(`chunk ${id} came after ${lastEpoch}-${lastSeq}`);
  }

  #apply(chunk: Chunk): void {
    if (chunk.type === 'text-delta') this.text += chunk.delta;
    if (chunk.type === 'data-accepted' && chunk.data.requestId === this.#pending?.requestId)
      this.#pending = null;
    if (chunk.type === 'data-session') {
      this.greetings++;
      const { received = [] } = chunk.data;
      if (received.some(({ requestId }) => requestId === this.#pending?.requestId)) this.#pending = null;
      this.#sendPending();
    }
    if (chunk.type === 'tool-approval-request') {
      this.card = chunk;
      this.state = 'whole';
    }
    if (chunk.type === 'tool-output-available')
      this.outputs.set(chunk.toolCallId, JSON.stringify(chunk.output));
    if (chunk.type === 'tool-output-error') this.outputs.set(chunk.toolCallId, chunk.errorText);
    if (chunk.type === 'finish' && chunk.messageMetadata?.interrupted) this.state = 'interrupted';
    if (chunk.type === 'data-reset') this.#reset(chunk.data.messages);
  }

  #reset(messages: readonly Message[]): void {
    this.resets++;
    for (const { parts } of messages) {
      for (const part of parts) {
        if (!('toolCallId' in part)) continue;
        if ('output' in part && part.output !== undefined)
          this.outputs.set(part.toolCallId, JSON.stringify(part.output));
        if ('errorText' in part && part.errorText) this.outputs.set(part.toolCallId, part.errorText);
      }
    }
    const last = messages.at(-1);
    // Shows the stored answer. An answer whose request is sent again starts empty.
    this.text = '';
    if (last?.role !== 'assistant' || this.#pending) return;
    this.text = last.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
    if (last.metadata?.interrupted) this.state = 'interrupted';
  }
}

function splitId(id: string): [epoch: string, seq: number] {
  const at = id.lastIndexOf('-');
  return [id.slice(0, at), Number(id.slice(at + 1))];
}

export const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));
