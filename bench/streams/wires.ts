import type { Heard } from './listener.ts';

type Json = Record<string, unknown>;

/** Reads the meaning of one chunk of a stream. */
export type Read = (chunk: Json) => Heard;

/** Splits SSE text, which arrives in arbitrary pieces, into the values of its data lines. */
export function blocksOf(take: (chunk: Json) => void): (text: string) => void {
  let rest = '';
  return (text) => {
    const whole = rest + text;
    const end = whole.lastIndexOf('\n');
    rest = whole.slice(end + 1);
    for (const line of whole.slice(0, end + 1).split('\n')) {
      if (line.startsWith('data: {')) take(JSON.parse(line.slice(6)));
    }
  };
}

/** The AI SDK's chunks. */
export function asUi(chunk: Json): Heard {
  switch (chunk.type) {
    case 'text-delta':
      return { text: String(chunk.delta) };
    case 'tool-input-available':
      return { calls: 1 };
    case 'tool-approval-request':
      return { card: true };
    default:
      return {};
  }
}

/** AG-UI's events. It has no approval request: a call without a result counts as one. */
export function asAgUi(event: Json): Heard {
  switch (event.type) {
    case 'TEXT_MESSAGE_CONTENT':
    case 'TEXT_MESSAGE_CHUNK':
      return { text: String(event.delta) };
    case 'TOOL_CALL_START':
      return event.toolCallName === 'process_payment' ? { calls: 1, card: true } : { calls: 1 };
    default:
      return {};
  }
}

/** ADK's own events. */
export function asAdk(event: Json): Heard {
  const { partial, content } = event as { partial?: boolean; content?: { parts?: Json[] } };
  const parts = content?.parts ?? [];
  if (partial) return { text: parts.map(({ text }) => text ?? '').join('') };
  const names = parts.flatMap(({ functionCall }) => (functionCall ? [(functionCall as Json).name] : []));
  if (names.includes('adk_request_confirmation')) return { card: true };
  return { calls: names.length };
}
