import { type Fields, fieldsIn } from './fields.ts';

/** A summary of a chunk in one line. */
export function summaryOf(type: string, chunk: Fields): string {
  if (typeof chunk.delta === 'string') return clip(JSON.stringify(chunk.delta));
  if (type.startsWith('tool-')) {
    const { toolName, input, output, errorText, toolCallId, approvalId } = chunk;
    const what = [toolName, errorText, approvalId, input ?? output].find((value) => value !== undefined);
    return clip(typeof what === 'string' ? what : JSON.stringify(what ?? toolCallId));
  }
  if (type === 'data-message') {
    const text = textsIn('message', { messages: [fieldsIn(chunk.data).message] });
    if (text !== '') return text;
  }
  const { finishReason, messageId, data, errorText, url } = chunk;
  const what = [finishReason, messageId, errorText, data, url].find((value) => value !== undefined);
  return what === undefined ? '' : clip(typeof what === 'string' ? what : JSON.stringify(what));
}

/** A summary of a frame or request of the page in one line. */
export function textsIn(type: string, data: Fields): string {
  if (type === 'tool_result') {
    const { status, error, result, toolCallId } = data;
    return clip(String(status ?? error ?? JSON.stringify(result ?? toolCallId)));
  }
  if (type !== 'message' || !Array.isArray(data.messages)) return '';
  const last = fieldsIn(data.messages.at(-1));
  const parts = Array.isArray(last.parts) ? last.parts.map(fieldsIn) : [];
  return clip(parts.map(partText).filter(Boolean).join(' · '));
}

function partText(part: Fields): string {
  const { text, mediaType, approval, state } = part;
  if (typeof text === 'string') return text;
  if (typeof mediaType === 'string') return mediaType;
  const { approved } = fieldsIn(approval);
  if (approved === undefined) return String(state ?? '');
  return `${String(part.type).replace(/^tool-/, '')}: ${approved === true ? 'approved' : 'denied'}`;
}

/** Cuts a text to the length of a line. */
export function clip(text: string): string {
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
