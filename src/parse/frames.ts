import { tryJson } from './json.ts';

/** What a framing yields: a decoded event, the end marker, or a piece that is not JSON. */
export type Framed = { event: unknown } | { done: true } | { broken: string };

/** Cuts a stream into events; `end` tells whether it stopped in the middle of one. */
export interface Framing<In> {
  push(chunk: In): Framed[];
  end(): { frames: Framed[]; cut: boolean };
}

function decode(data: string, name: string): Framed {
  const value = tryJson(data);
  if (value === undefined) return { broken: data };
  // Some servers name an error only in the event field.
  const bare =
    name === 'error' &&
    typeof value === 'object' &&
    value !== null &&
    !('error' in value) &&
    !('type' in value);
  return { event: bare ? { type: 'error', error: value } : value };
}

/** Server-sent events. */
export class SseFraming implements Framing<string> {
  private rest = '';
  private data: string | null = null;
  private name = '';
  private afterReturn = false;

  push(chunk: string): Framed[] {
    const frames: Framed[] = [];
    let text = this.afterReturn && chunk.startsWith('\n') ? chunk.slice(1) : chunk;
    this.afterReturn = chunk.endsWith('\r');
    if (text.includes('\r')) text = text.replace(/\r\n?/g, '\n');
    let from = 0;
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', from)) {
      this.line(this.rest + text.slice(from, at), frames);
      this.rest = '';
      from = at + 1;
    }
    this.rest += text.slice(from);
    return frames;
  }

  private line(line: string, frames: Framed[]): void {
    if (line === '') this.dispatch(frames);
    else if (line.startsWith('data:')) {
      const value = line.slice(line[5] === ' ' ? 6 : 5);
      this.data = this.data === null ? value : `${this.data}\n${value}`;
    } else if (line.startsWith('event:')) this.name = line.slice(6).trim();
  }

  private dispatch(frames: Framed[]): void {
    const { data, name } = this;
    this.data = null;
    this.name = '';
    if (data === null || data === '') return;
    frames.push(data.trim() === '[DONE]' ? { done: true } : decode(data, name));
  }

  end(): { frames: Framed[]; cut: boolean } {
    const frames: Framed[] = [];
    if (this.rest !== '') this.line(this.rest, frames);
    this.rest = '';
    this.dispatch(frames);
    // An event without its blank line still counts if it is whole.
    const whole = frames.filter((frame) => !('broken' in frame));
    return { frames: whole, cut: whole.length < frames.length };
  }
}

const NEWLINE = 10;
const QUOTE = 34;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/** JSON values one after the other: one a line, merely concatenated, or the elements of one array. */
export class JsonFraming implements Framing<string> {
  private rest = '';
  private depth = 0;
  private base = 0;
  private inString = false;
  private escaped = false;
  private closed = true;
  private seen = false;
  private atLineStart = true;

  push(chunk: string): Framed[] {
    const frames: Framed[] = [];
    let from = this.depth > this.base ? 0 : -1;
    const take = (to: number): void => {
      frames.push(decode(this.rest + chunk.slice(from, to), ''));
      this.rest = '';
      from = -1;
    };
    for (let i = 0; i < chunk.length; i++) {
      const c = chunk.charCodeAt(i);
      const first = this.atLineStart;
      this.atLineStart = c === NEWLINE;
      // A value that starts a line inside another one: the one before was broken off.
      if (first && c === OPEN_OBJECT && this.depth > this.base) {
        take(i);
        this.depth = this.base;
        this.inString = false;
      }
      if (this.inString) {
        if (this.escaped) this.escaped = false;
        else if (c === BACKSLASH) this.escaped = true;
        else if (c === QUOTE) this.inString = false;
      } else if (c === QUOTE) this.inString = true;
      else if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
        if (!this.seen && c === OPEN_ARRAY) {
          this.base = 1;
          this.closed = false;
        } else if (this.depth === this.base) from = i;
        this.seen = true;
        this.depth++;
      } else if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) {
        this.depth--;
        if (this.depth < this.base) {
          this.closed = true;
          this.depth = this.base;
        } else if (this.depth === this.base && from !== -1) take(i + 1);
      }
    }
    if (from !== -1) this.rest += chunk.slice(from);
    return frames;
  }

  end(): { frames: Framed[]; cut: boolean } {
    return { frames: [], cut: this.rest !== '' || !this.closed };
  }
}
