import { ProtocolError } from './errors.ts';
import { notJson } from './frames.ts';
import { CHAT_REQUESTS, type ChatRequest } from './wire/chat-frames.ts';
import { clientId } from './wire/values.ts';

/**
 * Reads a text frame of the AI SDK's own WebSocket transport. Throws a `ProtocolError`. For a frame of a known type, the error has the `requestId` of the
 * frame, if that is valid.
 */
export function readChatFrame(text: string): ChatRequest {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw notJson();
  }
  return readChatFrameValue(json);
}

/** Reads a frame of the AI SDK's own WebSocket transport whose JSON is already parsed. Throws as `readChatFrame` does. */
export function readChatFrameValue(json: unknown): ChatRequest {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw new ProtocolError('invalid_frame', 'A frame must be a JSON object.');
  const { type, requestId } = json as { type?: unknown; requestId?: unknown };
  if (typeof type !== 'string' || !Object.hasOwn(CHAT_REQUESTS, type))
    throw new ProtocolError('invalid_frame', 'A frame must have the type "send", "resume" or "abort".');
  const { success, data, error } = CHAT_REQUESTS[type as keyof typeof CHAT_REQUESTS].fields.safeParse(json);
  if (success) return { type, ...data } as ChatRequest;
  const [issue] = error.issues;
  const message = `"${issue?.path.join('.')}" of a ${type} frame is not valid: ${issue?.message}.`;
  // The error repeats the `requestId` of the frame, unless that is missing or not valid. A server that repeated ids of any length would send back as
  // much as a client sends.
  const name = clientId.safeParse(requestId);
  if (!name.success) throw new ProtocolError('invalid_frame', message);
  throw new ProtocolError('bad_request', message, { requestId: name.data });
}
