import type { Event } from '@google/adk';
import { CALLS_IN_A_STEP, DELTAS, PAYMENT, WEATHER } from '../load.ts';

/** The blocks of a stream, made once: a server that sends these does no mapping and no encoding. */
const block = (chunk: object): string => `data: ${JSON.stringify(chunk)}\n\n`;

const BY_DELTA = new Map(
  DELTAS.map((delta) => [delta, block({ type: 'text-delta', id: '0', delta })] as const),
);
const call = (toolCallId: string, toolName: string, input: object): string =>
  block({ type: 'tool-input-start', toolCallId, toolName }) +
  block({ type: 'tool-input-available', toolCallId, toolName, input });

export const OPENING = block({ type: 'text-start', id: '0' });
export const CLOSING = block({ type: 'text-end', id: '0' });
export const START = block({ type: 'start', messageId: 'message' }) + OPENING;
const ids = Array.from({ length: CALLS_IN_A_STEP }, (_, n) => `call-${n}`);
export const CALLS = CLOSING + ids.map((id) => call(id, 'get_weather', WEATHER.args)).join('');
const outputs = ids.map((toolCallId) =>
  block({ type: 'tool-output-available', toolCallId, output: WEATHER.output }),
);
export const OUTPUTS = outputs.join('') + OPENING;
export const CARD =
  CLOSING +
  call('payment', 'process_payment', PAYMENT) +
  block({ type: 'tool-approval-request', toolCallId: 'payment', approvalId: 'approval-1' });
export const END = block({ type: 'finish', finishReason: 'tool-calls' });

/** The block of a delta. */
export function deltaBlock(delta: string): string {
  return BY_DELTA.get(delta) ?? '';
}

/** The prepared block for an ADK event; looked up, not encoded. */
export function eventBlock({ partial, content }: Event): string {
  const part = content?.parts?.find((one) => partial || one.functionCall || one.functionResponse);
  if (partial) return deltaBlock(part?.text ?? '');
  if (part?.functionCall?.name === 'get_weather') return CALLS;
  if (part?.functionCall?.name === 'process_payment') return CARD;
  return part?.functionResponse?.name === 'get_weather' ? OUTPUTS : '';
}
