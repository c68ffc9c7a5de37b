import { z } from 'zod';
import { ProtocolError } from './errors.ts';
import { type Input, readInput } from './read.ts';
import type { Answer } from './tool-call.ts';

/** The version every client frame may carry. */
export const FRAME_VERSION = '1.0';

/** The WebSocket subprotocol that turns on ids, batches and binary audio. */
export const SUBPROTOCOL = 'duologue.v1';

/** Prefix of the subprotocol that carries a key, base64url. */
export const KEY_SUBPROTOCOL = 'duologue.key.';

const id = z.string().min(1).max(256);

const schemas = {
  message: z.looseObject({
    messages: z.array(z.unknown()).min(1),
    trigger: z.enum(['submit-message', 'regenerate-message']).optional(),
    messageId: id.optional(),
  }),
  tool_result: z.looseObject({
    toolCallId: id,
    toolName: z.string().optional(),
    result: z.unknown().optional(),
    status: z.enum(['approved', 'rejected']).optional(),
    reason: z.string().max(2000).optional(),
    error: z.string().max(10_000).optional(),
  }),
  audio_chunk: z.looseObject({
    chunk: z.string().min(1),
    sampleRate: z.number().optional(),
    channels: z.number().optional(),
    bitDepth: z.number().optional(),
  }),
  audio_control: z.looseObject({ action: z.enum(['start', 'stop']) }),
  video_frame: z.looseObject({ mediaType: z.literal('image/jpeg'), data: z.string().min(1) }),
  interrupt: z.looseObject({ reason: z.string().max(200).optional() }),
  ping: z.looseObject({ timestamp: z.unknown().optional() }),
};

type FrameType = keyof typeof schemas;

/** The data of each client frame. */
export type FrameData = { [T in FrameType]: z.infer<(typeof schemas)[T]> };

/** What a client frame means to the server. */
export type ClientFrame =
  | {
      type: 'message';
      input: Input;
      trigger: 'submit-message' | 'regenerate-message';
      messageId: string | undefined;
    }
  | { type: 'answers'; answers: Answer[] }
  | { type: 'audio_chunk'; pcm: string }
  | { type: 'audio_control'; action: 'start' | 'stop' }
  | { type: 'video_frame'; jpeg: string }
  | { type: 'interrupt'; reason: string | undefined }
  | { type: 'ping'; timestamp: unknown };

/** Reads a text frame from a client: the envelope `{type, version, data}`, or the same fields flat. */
export function readFrame(text: string): ClientFrame {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new ProtocolError('invalid_frame', 'A frame must be JSON.');
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new ProtocolError('bad_request', 'A frame must be a JSON object.');
  }
  const { type, version, data, ...flat } = json as Record<string, unknown>;
  if (typeof type !== 'string') throw new ProtocolError('bad_request', 'A frame needs a "type".');
  if (!Object.hasOwn(schemas, type))
    throw new ProtocolError('unknown_frame', `Unknown frame type ${JSON.stringify(type.slice(0, 64))}.`);
  if (version !== undefined && version !== FRAME_VERSION) {
    throw new ProtocolError('bad_version', `Frame version must be "${FRAME_VERSION}".`);
  }
  return meaningOf(type as FrameType, data ?? flat);
}

function meaningOf(type: FrameType, data: unknown): ClientFrame {
  switch (type) {
    case 'message': {
      const frame = check(type, data);
      return {
        type,
        input: readInput(frame.messages),
        trigger: frame.trigger ?? 'submit-message',
        messageId: frame.messageId,
      };
    }
    case 'tool_result':
      return { type: 'answers', answers: answersOf(check(type, data)) };
    case 'audio_chunk': {
      const frame = check(type, data);
      if (
        (frame.sampleRate ?? 16_000) !== 16_000 ||
        (frame.channels ?? 1) !== 1 ||
        (frame.bitDepth ?? 16) !== 16
      ) {
        throw new ProtocolError('bad_audio', 'Audio must be 16 kHz, mono, 16-bit PCM.');
      }
      return { type, pcm: frame.chunk };
    }
    case 'audio_control':
      return { type, action: check(type, data).action };
    case 'video_frame':
      return { type, jpeg: check(type, data).data };
    case 'interrupt':
      return { type, reason: check(type, data).reason };
    case 'ping':
      return { type, timestamp: check(type, data).timestamp };
  }
}

function check<T extends FrameType>(type: T, data: unknown): FrameData[T] {
  const result = schemas[type].safeParse(data);
  if (result.success) return result.data as FrameData[T];
  const issue = result.error.issues[0];
  const where = issue?.path.join('.') || 'data';
  throw new ProtocolError(
    'bad_request',
    `Frame "${type}": ${where}: ${issue?.message ?? 'is not as expected'}.`,
  );
}

/** A `tool_result` is a decision (`status`), an output (`result`), a failure (`error`), or a decision and an output. */
function answersOf(frame: FrameData['tool_result']): Answer[] {
  const { toolCallId, status, reason, error } = frame;
  const answers: Answer[] = [];
  if (status !== undefined) {
    answers.push({
      kind: 'decision',
      toolCallId,
      approved: status === 'approved',
      ...(reason ? { reason } : {}),
    });
    if (status === 'rejected') return answers;
  }
  if (error !== undefined) answers.push({ kind: 'failure', toolCallId, errorText: error });
  else if (frame.result !== undefined && (frame.result !== null || status === undefined)) {
    answers.push({ kind: 'output', toolCallId, output: frame.result });
  }
  if (answers.length === 0) {
    throw new ProtocolError('bad_request', 'Frame "tool_result" needs a "result", a "status" or an "error".');
  }
  return answers;
}
