import type { UIMessageChunk } from 'ai';
import type { DataParts } from '../protocol/chunks.ts';
import type { ToolPart } from './parts.ts';
import { ResponseStream } from './response-stream.ts';
import type { Timers } from './timers.ts';

/** A response that a chat reads now. */
export interface Reading {
  stream: ResponseStream;
  /** The frame that it is the response to. */
  requestId: string | null;
  /** The user message that it answers. */
  userMessageId: string | null;
  /** The message that it goes on with. */
  messageId: string | null;
  /** The answers that left for it. */
  answers: readonly ToolPart[];
  hasBegun: boolean;
}

/** A response that was just opened. */
export interface Opened {
  number: number;
  readable: ReadableStream<UIMessageChunk>;
}

/** Codes that are about the connection or about sound, and not about what a response waits for. */
const ELSEWHERE: readonly string[] = [
  'taken_over',
  'idle',
  'too_slow',
  'flooded',
  'moved',
  'shutting_down',
  'invalid_frame',
  'bad_audio',
  'unknown_frame',
  'bad_version',
];

/** The responses that the chat reads now, by number. */
export class Readings {
  private readonly readings = new Map<number, Reading>();
  private readonly timers: Timers;
  private readonly mergeMs: number;
  private readonly onLeave: (number: number) => void;
  private count = 0;

  constructor(timers: Timers, mergeMs: number, onLeave: (number: number) => void) {
    this.timers = timers;
    this.mergeMs = mergeMs;
    this.onLeave = onLeave;
  }

  open(about: Partial<Omit<Reading, 'stream'>>): Opened {
    const number = ++this.count;
    const stream = new ResponseStream(this.timers, this.mergeMs, () => this.onLeave(number));
    this.readings.set(number, {
      requestId: null,
      userMessageId: null,
      messageId: null,
      answers: [],
      hasBegun: false,
      ...about,
      stream,
    });
    return { number, readable: stream.readable as ReadableStream<UIMessageChunk> };
  }

  get(number: number): Reading | undefined {
    return this.readings.get(number);
  }

  /** Takes a response out: it is over. */
  take(number: number): Reading | undefined {
    const reading = this.readings.get(number);
    this.readings.delete(number);
    return reading;
  }

  /** The numbers of those that match. */
  numbers(matches: (reading: Reading) => boolean = () => true): number[] {
    return [...this.readings].flatMap(([number, reading]) => (matches(reading) ? [number] : []));
  }

  /** The response that waits for what an error is about, the oldest if there are several; null when none does. */
  concernedBy({ code }: DataParts['error']): number | null {
    if (ELSEWHERE.includes(code)) return null;
    const isAnswer = code === 'nothing_to_answer' || code === 'answer_refused';
    const [number] = this.numbers(({ hasBegun, answers, requestId }) => {
      const waits = answers.length > 0 || (requestId !== null && !isAnswer);
      return waits && !hasBegun;
    });
    if (number === undefined) return null;
    // Other answers of the same message may have counted.
    const isOneOfSeveral = code === 'answer_refused' && (this.get(number)?.answers.length ?? 0) > 1;
    return isOneOfSeveral ? null : number;
  }
}
