import { isObject, tryJson } from './json.ts';

/** What a framing finds: a decoded event, the end marker, or a piece that cannot be read. */
export interface FrameSink {
  event(value: unknown): void;
  done(): void;
  broken(text: string): void;
}

/** Cuts a stream into events; `end` tells whether it stopped in the middle of one. */
export interface Framing<In> {
  push(chunk: In): void;
  end(): boolean;
}

/** Server-sent events. */
export function sseFraming(sink: FrameSink): Framing<string> {
  let rest = '';
  let data: string | null = null;
  let name = '';
  const dispatch = (): void => {
    if (data?.trim() === '[DONE]') sink.done();
    else if (data) {
      const value = tryJson(data);
      if (value === undefined) sink.broken(data);
      // Some servers name an error only in the event field.
      else if (name === 'error' && isObject(value) && !value.error && !value.type)
        sink.event({ error: value });
      else sink.event(value);
    }
    data = null;
    name = '';
  };
  const line = (text: string): void => {
    if (text === '') dispatch();
    else if (text.startsWith('data:')) data = (data === null ? '' : `${data}\n`) + text.slice(5);
    else if (text.startsWith('event:')) name = text.slice(6).trim();
  };
  return {
    push(chunk) {
      let from = 0;
      for (let at = chunk.indexOf('\n'); at >= 0; at = chunk.indexOf('\n', from)) {
        line((rest + chunk.slice(from, at)).replace(/\r$/, ''));
        rest = '';
        from = at + 1;
      }
      rest += chunk.slice(from);
    },
    end() {
      line(rest);
      // An event without its blank line still counts if it is whole.
      const cut = data !== null && data !== '' && data.trim() !== '[DONE]' && tryJson(data) === undefined;
      if (!cut) dispatch();
      return cut;
    },
  };
}

const NEWLINE = 10;
const QUOTE = 34;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/** JSON values one after the other: one a line, merely concatenated, or the elements of one array. */
export function jsonFraming(sink: FrameSink): Framing<string> {
  let rest = '';
  let depth = 0;
  /** The depth of the values: 1 inside an array, which is open until then. */
  let base = 0;
  let seen = false;
  let open = false;
  let inString = false;
  let before = NEWLINE;
  return {
    push(chunk) {
      let from = depth > base ? 0 : -1;
      const take = (to: number): void => {
        const text = rest + chunk.slice(from, to);
        const value = tryJson(text);
        if (value === undefined) sink.broken(text);
        else sink.event(value);
        rest = '';
        from = -1;
        depth = base;
        inString = false;
      };
      for (let i = 0; i < chunk.length; i++) {
        const c = chunk.charCodeAt(i);
        // A value that starts a line inside another one: the one before was broken off.
        if (before === NEWLINE && c === OPEN_OBJECT && from >= 0) take(i);
        if (inString && before === BACKSLASH) before = 0;
        else {
          before = c;
          if (c === QUOTE) inString = !inString;
          else if (inString) continue;
          else if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
            if (!seen && c === OPEN_ARRAY) {
              base = 1;
              open = true;
            } else if (depth === base) from = i;
            seen = true;
            depth++;
          } else if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) {
            depth--;
            if (depth < base) {
              open = false;
              depth = base;
            } else if (depth === base) take(i + 1);
          }
        }
      }
      if (from >= 0) rest += chunk.slice(from);
    },
    end: () => open || rest !== '',
  };
}
