import { tryJson } from './json.ts';

/**
 * Receives what a framing finds: decoded events, the end marker `[DONE]`, and broken pieces. A broken piece is text that is not JSON,
 * or an AWS message with a wrong checksum.
 */
export interface FrameSink {
  event(value: unknown): void;
  done(): void;
  broken(text: string): void;
}

/**
 * Cuts a stream of text or bytes into events. `end` returns true when the stream was cut: it stopped in the middle of an event
 * or of a JSON array, or a checksum was wrong.
 */
export interface Framing<In> {
  push(chunk: In): void;
  end(): boolean;
}

/** Reads server-sent events. The `data` of each event is JSON. */
export function sseFraming(sink: FrameSink): Framing<string> {
  let rest = '';
  let data = '';
  /** Emits the event in a `data` field. Returns false when the text is not valid JSON and not `[DONE]`; the next `data` lines may complete it. */
  const take = (text: string): boolean => {
    const value = tryJson(text);
    const plain = text.trim();
    if (value) sink.event(value);
    else if (plain === '[DONE]') sink.done();
    else return value === null || !plain;
    return true;
  };
  const line = (text: string): void => {
    // Some logs leave out the blank lines between events. So a line is parsed at once, without waiting for a blank line.
    if (text.startsWith('data:')) data += data || !take(text.slice(5)) ? text.slice(5) : '';
    else if (!text) {
      if (data && !take(data)) sink.broken(data);
      data = '';
    }
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
      return Boolean(data) && !take(data);
    },
  };
}

/** Reads JSON values that follow one another: one on each line, without a separator, or as the elements of one array. */
export function jsonFraming(sink: FrameSink): Framing<string> {
  let rest = '';
  let depth = 0;
  /** The nesting depth at which values start: 1 inside an array, otherwise 0. */
  let base = 0;
  let seen = false;
  let open = false;
  let inString = false;
  let before: string | undefined = '\n';
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
        const c = chunk[i];
        // A `{` at the start of a line, while another value is open, shows that the open value was cut off.
        if (before === '\n' && c === '{' && from >= 0) take(i);
        if (inString && before === '\\') {
          before = '';
          continue;
        }
        before = c;
        if (c === '"') inString = !inString;
        else if (inString) continue;
        else if (c === '{' || c === '[') {
          if (!seen && c === '[') {
            base = 1;
            open = true;
          } else if (depth === base) from = i;
          seen = true;
          depth++;
        } else if (c === '}' || c === ']') {
          if (depth === base) open = false;
          else if (--depth === base) take(i + 1);
        }
      }
      if (from >= 0) rest += chunk.slice(from);
    },
    end: () => open || rest !== '',
  };
}
