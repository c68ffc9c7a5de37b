import { BINARY, decodeBinary, FRAME_VERSION } from './codec.ts';
import { ProtocolError } from './errors.ts';
import { exhaustive } from './exhaustive.ts';
import { base64Bytes, LIMITS, type Limits } from './limits.ts';
import { type Input, readRequest } from './read.ts';
import { type Answer, failureOf, outputOf, payloadOf, reasonOf } from './tool-call.ts';
import { CLIENT_FRAMES, type FrameData, type TRIGGERS } from './wire/frames.ts';
import { clientId } from './wire/values.ts';

type FrameType = keyof FrameData;

/** A request that may have a `requestId`. A client that lost its connection sends the request again with the same `requestId`. */
interface Named {
  requestId?: string | undefined;
}

/** Which side detects when the user's speech starts and ends: the client, which sends `start` and `stop`, or the model (`server`). */
export type Detection = 'client' | 'server';

/**
 * The content of an `interrupt` frame: the interrupted message, and how many milliseconds of its sound were played. Without `messageId`, the
 * message with the newest sound is meant.
 */
export interface Heard {
  messageId: string | undefined;
  playedMs: number | undefined;
  /** The user began to speak. The model stops by itself, and waiting calls stay open. */
  isSpeech?: true;
}

/** The `reason` of an interrupt that only tells how much sound was played when the user began to speak. */
const SPEECH = 'speech';

/** A client frame after validation, as the server handles it. */
export type ClientFrame =
  | (Named & {
      type: 'message';
      input: Input;
      trigger: (typeof TRIGGERS)[number];
      messageId: string | undefined;
    })
  | (Named & { type: 'answers'; answers: Answer[] })
  | { type: 'audio_chunk'; pcm: string }
  | { type: 'audio_control'; action: 'start' | 'stop'; detection: Detection }
  | { type: 'video_frame'; jpeg: string }
  | (Named & {
      type: 'interrupt';
      heard: Heard;
    })
  | { type: 'floor' }
  | { type: 'ping'; timestamp: number | string | undefined };

/** A binary frame of a client after validation. */
export type ClientBinary = { type: 'audio'; pcm: Uint8Array } | { type: 'video'; jpeg: Uint8Array };

/**
 * Reads a text frame of a client. The frame is an envelope `{type, version, data}`, or an object with `type` and the fields of `data`.
 * Throws a `ProtocolError`.
 */
export function readFrame(text: string, limits: Limits = LIMITS): ClientFrame {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw notJson();
  }
  return readFrameValue(json, limits);
}

/** The error for a text frame that is not JSON. */
export function notJson(): ProtocolError {
  return new ProtocolError('invalid_frame', 'A frame must be JSON.');
}

/**
 * Reads a text frame whose JSON is already parsed. Throws a `ProtocolError`. For a frame of a known type and version, the error has the `requestId` of the
 * frame, if that is valid.
 */
export function readFrameValue(json: unknown, limits: Limits = LIMITS): ClientFrame {
  if (!isRecord(json)) throw new ProtocolError('bad_request', 'A frame must be a JSON object.');
  const { type, version, data } = json;
  if (typeof type !== 'string') throw new ProtocolError('bad_request', 'A frame needs a "type".');
  if (!Object.hasOwn(CLIENT_FRAMES, type))
    throw new ProtocolError('unknown_frame', `Unknown frame type ${JSON.stringify(type.slice(0, 64))}.`);
  if (version !== undefined && version !== FRAME_VERSION)
    throw new ProtocolError(
      'bad_version',
      `Frame version ${JSON.stringify(version).slice(0, 64)} is not known; send "${FRAME_VERSION}".`,
    );
  // A `video_frame` without an envelope also has a field `data`, but that is text and not an object.
  const fields = isRecord(data) ? data : json;
  try {
    return meaningOf(type as FrameType, fields, limits);
  } catch (error) {
    throw error instanceof ProtocolError ? error.about(nameIn(fields)) : error;
  }
}

/** Reads a binary frame of a client: microphone sound, or a picture of the camera or screen. Throws a `ProtocolError`. */
export function readBinaryFrame(bytes: Uint8Array, limits: Limits = LIMITS): ClientBinary {
  const frame = decodeBinary(bytes);
  switch (frame?.kind) {
    case BINARY.audioUp:
      checkAudio(frame.sampleRate, frame.payload.byteLength, limits);
      return { type: 'audio', pcm: frame.payload };
    case BINARY.video:
      checkJpeg(frame.payload[0] === 0xff && frame.payload[1] === 0xd8, frame.payload.byteLength, limits);
      return { type: 'video', jpeg: frame.payload };
    default:
      throw new ProtocolError(
        'unknown_frame',
        'A binary frame needs a payload, and its first byte must be 1 (sound) or 3 (picture).',
      );
  }
}

/** Returns the `requestId` of a frame that is rejected because of another field; undefined when the frame has no valid `requestId`. */
function nameIn({ requestId }: Record<string, unknown>): string | undefined {
  const { data } = clientId.safeParse(requestId);
  return data;
}

function meaningOf(type: FrameType, data: Record<string, unknown>, limits: Limits): ClientFrame {
  switch (type) {
    case 'message': {
      const frame = check(type, data);
      return {
        type,
        input: readRequest(frame, limits),
        trigger: frame.trigger ?? 'submit-message',
        messageId: frame.messageId,
        requestId: frame.requestId,
      };
    }
    case 'tool_result': {
      const frame = check(type, data);
      return { type: 'answers', answers: answersOf(frame, limits), requestId: frame.requestId };
    }
    case 'audio_chunk': {
      const { chunk, sampleRate = 16_000, channels = 1, bitDepth = 16 } = check(type, data);
      if (channels !== 1 || bitDepth !== 16) throw new ProtocolError('bad_audio', AUDIO);
      checkAudio(sampleRate, isBase64(chunk) ? base64Bytes(chunk) : Number.NaN, limits);
      return { type, pcm: chunk };
    }
    case 'audio_control': {
      const { action, detection = 'server' } = check(type, data);
      return { type, action, detection };
    }
    case 'video_frame': {
      const { data: jpeg } = check(type, data);
      checkJpeg(/^\/9[g-j]/.test(jpeg) && isBase64(jpeg), base64Bytes(jpeg), limits);
      return { type, jpeg };
    }
    case 'interrupt': {
      const { reason, messageId, playedMs, requestId } = check(type, data);
      const isSpeech = reason === SPEECH ? { isSpeech: true as const } : {};
      return { type, heard: { messageId, playedMs, ...isSpeech }, requestId };
    }
    case 'floor':
      return { type };
    case 'ping':
      return { type, timestamp: check(type, data).timestamp };
    default:
      return exhaustive(type);
  }
}

function check<T extends FrameType>(type: T, data: unknown): FrameData[T] {
  const result = CLIENT_FRAMES[type].fields.safeParse(data);
  if (result.success) return result.data as FrameData[T];
  const [issue] = result.error.issues;
  throw new ProtocolError('bad_request', `Frame "${type}": ${issue?.path.join('.')}: ${issue?.message}.`);
}

const AUDIO = 'Audio must be 16 kHz, mono, 16-bit PCM.';

function checkAudio(sampleRate: number, bytes: number, limits: Limits): void {
  if (sampleRate !== 16_000 || bytes % 2 !== 0) throw new ProtocolError('bad_audio', AUDIO);
  if (bytes > limits.audioBytes)
    throw new ProtocolError('too_large', `A piece of audio may have at most ${limits.audioBytes} bytes.`);
}

function checkJpeg(isJpeg: boolean, bytes: number, limits: Limits): void {
  if (!isJpeg) throw new ProtocolError('bad_image', 'A video frame must be a JPEG picture.');
  if (bytes > limits.imageBytes)
    throw new ProtocolError('too_large', `A video frame may have at most ${limits.imageBytes} bytes.`);
}

/**
 * Whether a text is base64. The regular expression searches for one wrong character. An expression that must match the whole text
 * would overflow the stack of newer JavaScript engines when the text has megabytes.
 */
function isBase64(text: string): boolean {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const body = text.slice(0, text.length - padding);
  return text.length % 4 === 0 && body !== '' && !/[^A-Za-z0-9+/]/.test(body);
}

/** Reads the answers of a `tool_result` frame: a decision (`status`), an output (`result`), a failure (`error`), or a decision with one of the other two. */
function answersOf(frame: FrameData['tool_result'], limits: Limits): Answer[] {
  const { toolCallId, status, reason, error, result, payload } = frame;
  const answers: Answer[] = [];
  if (status !== undefined) {
    const approved = status === 'approved';
    const sent = { ...reasonOf(reason, limits), ...payloadOf(payload, limits) };
    answers.push({ kind: 'decision', toolCallId, approved, ...sent });
    if (!approved) return answers;
  }
  if (error !== undefined) answers.push(failureOf(toolCallId, error, limits));
  // In a frame with a `status`, a null `result` means that there is no output yet.
  else if (result !== undefined && (result !== null || status === undefined))
    answers.push(outputOf(toolCallId, result, limits));
  if (answers.length === 0)
    throw new ProtocolError('bad_request', 'Frame "tool_result" needs a "result", a "status" or an "error".');
  return answers;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
