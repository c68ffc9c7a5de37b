import { z } from 'zod/v4';
import {
  acceptedRequest,
  attachments,
  base64,
  count,
  entry,
  id,
  message,
  milliseconds,
  modelCapabilities,
  waitingCall,
} from './values.ts';

/**
 * The data of every `data-*` chunk, by its name without `data-`. `transient` data is never part of a message. The server sends data
 * that is `forWatchers` only over sockets with the subprotocol `duologue.v2` and over `/sessions/:id/watch`.
 */
export const DATA = {
  image: entry({
    about: 'An image that the agent made. A server may be set to send this chunk instead of `file` (S12).',
    transient: false,
    fields: z.object({ mediaType: z.string(), data: base64 }),
    example: { mediaType: 'image/png', data: 'iVBORw0KGgo=' },
  }),
  'executable-code': entry({
    about: 'Code that the model wrote and its provider runs.',
    transient: false,
    fields: z.object({ language: z.string(), code: z.string() }),
    example: { language: 'PYTHON', code: 'print(6 * 7)' },
  }),
  'code-execution-result': entry({
    about: 'What the code printed. The server sends it after `data-executable-code`.',
    transient: false,
    fields: z.object({ outcome: z.string(), output: z.string() }),
    example: { outcome: 'OUTCOME_OK', output: '42\n' },
  }),
  pcm: entry({
    about:
      'Sound of the message, for listeners without binary frames: over SSE, and on a socket without subprotocol. Signed 16-bit little-endian PCM.',
    transient: true,
    fields: z.object({
      chunk: base64,
      sampleRate: count,
      channels: z.literal(1),
      bitDepth: z.literal(16),
      messageId: id,
    }),
    example: { chunk: 'AAABAAIA', sampleRate: 24_000, channels: 1, bitDepth: 16, messageId: 'msg-2' },
  }),
  audio: entry({
    about: 'Sound of the message that is not PCM.',
    transient: true,
    fields: z.object({ mediaType: z.string(), data: base64 }),
    example: { mediaType: 'audio/ogg', data: 'T2dnUw==' },
  }),
  transcript: entry({
    about:
      'What the model heard the user say. The server sends the text as it grows, then once with `finished: true`; the finished text is empty when there were no words.',
    transient: true,
    fields: z.object({ role: z.literal('user'), text: z.string(), finished: z.boolean() }),
    example: { role: 'user', text: 'What is the weather', finished: false },
  }),
  settled: entry({
    about: 'A call of an earlier message ended without an output. The client shows the error on that call.',
    transient: true,
    fields: z.object({ toolCallId: id, messageId: id, errorText: z.string() }),
    example: { toolCallId: 'call-1', messageId: 'msg-2', errorText: 'Superseded by a newer message' },
  }),
  waiting: entry({
    about: 'The model did not answer. The server asks it again at `retryAt`.',
    transient: true,
    fields: z.object({
      reason: z.enum(['rate_limited', 'overloaded', 'unreachable', 'silent']),
      retryAt: milliseconds,
    }),
    example: { reason: 'rate_limited', retryAt: 1_763_000_002_000 },
  }),
  error: entry({
    about:
      'The server refused a frame or a request, or is about to close the connection. It sends this chunk to one connection, without a chunk id.',
    transient: true,
    fields: z.object({
      code: z.string().describe('one of the codes of E1'),
      message: z.string().describe('for the user; programs read `code`'),
      retryable: z.boolean(),
      retryAfterMs: z.number().optional(),
      requestId: id.optional().describe('the request that failed'),
    }),
    example: {
      code: 'busy',
      message: 'Too many messages are waiting. Try again in a moment.',
      retryable: true,
      retryAfterMs: 500,
      requestId: 'r-3',
    },
  }),
  accepted: entry({
    about:
      'The request and its `requestId` are stored. The server sends it to the connection of the request, without a chunk id.',
    transient: true,
    fields: acceptedRequest,
    example: { requestId: 'r-3', messageId: 'msg-4' },
  }),
  session: entry({
    about:
      'The first chunk of every connection and of every watch stream: the session and its current state.',
    transient: true,
    fields: z.object({
      sessionId: id,
      connectionId: id.describe('the id of this connection'),
      epoch: z.string().describe('the name of the log'),
      resumed: z.boolean().describe('whether the chunks continue after the one that the client named'),
      newest: z
        .string()
        .describe('the id of the newest chunk; chunks up to this one are older than the connection'),
      received: z.array(acceptedRequest).describe('the requests that the server accepted last, oldest first'),
      open: z.array(waitingCall).describe('the calls that wait for an answer'),
      running: id.nullable().describe('the message that the agent works on or writes next'),
      model: modelCapabilities,
      floor: id.nullable().describe('the active connection'),
      attachments: attachments.optional().describe('the files that a user message may have (A3a)'),
      nodes: z
        .object({ serves: z.string(), owns: z.string() })
        .optional()
        .describe('for development: the node of the connection, and the owner of the session'),
    }),
    example: {
      sessionId: 'chat-1',
      connectionId: 'conn-1',
      epoch: 'e1',
      resumed: false,
      newest: 'e1-0',
      received: [{ requestId: 'r-1', messageId: 'msg-2' }],
      open: [{ toolCallId: 'call-1', messageId: 'msg-2', waitsFor: 'person' }],
      running: null,
      model: { hears: true, sees: true, speaks: true },
      floor: 'conn-1',
      attachments: {
        types: ['image/png', 'application/pdf', 'text/*'],
        files: 4,
        imageBytes: 5_242_880,
        fileBytes: 10_485_760,
      },
    },
  }),
  sound: entry({
    about:
      'Describes the binary sound frames that follow. The server sends it before the first frame of an utterance, and after each place where it left sound out.',
    transient: true,
    fields: z.object({
      n: count.describe('the number of the utterance'),
      messageId: id,
      sampleRate: count,
      at: count.describe('how many samples of the utterance come before the next frame'),
    }),
    example: { n: 1, messageId: 'msg-2', sampleRate: 24_000, at: 0 },
  }),
  heard: entry({
    about:
      'How much of an interrupted message the user heard. The client cuts the text parts, taken together, to `length` UTF-16 units.',
    transient: true,
    fields: z.object({ messageId: id, length: count }),
    example: { messageId: 'msg-2', length: 17 },
  }),
  floor: entry({
    about: 'The active connection changed. Null: there is none.',
    transient: true,
    forWatchers: true,
    fields: z.object({ connectionId: id.nullable() }),
    example: { connectionId: 'conn-2' },
  }),
  message: entry({
    about: 'A user message as it is stored, before the answer to it.',
    transient: true,
    forWatchers: true,
    fields: z.object({ message }),
    example: { message: { id: 'msg-1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] } },
  }),
  decided: entry({
    about: 'A decision on an approval request took effect.',
    transient: true,
    forWatchers: true,
    fields: z.object({
      toolCallId: id,
      messageId: id,
      approved: z.boolean(),
      reason: z.string().optional(),
      by: z.string().describe('the connection that sent the decision, or the user who posted it'),
    }),
    example: { toolCallId: 'call-1', messageId: 'msg-2', approved: false, reason: 'too dear', by: 'conn-1' },
  }),
  rewind: entry({
    about: 'The conversation was rewound: the client removes this user message and everything after it.',
    transient: true,
    forWatchers: true,
    fields: z.object({ messageId: id }),
    example: { messageId: 'msg-1' },
  }),
  reset: entry({
    about:
      'The log does not reach back to the chunk that the client named. The client replaces its messages with these.',
    transient: true,
    fields: z.object({
      messages: z.array(message).describe('the newest page of messages'),
      older: id.optional().describe('the id of the first message, when there are older ones'),
    }),
    example: {
      messages: [{ id: 'msg-1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
      older: 'msg-1',
    },
  }),
};

/** The name of a `data-*` chunk, without `data-`. */
export type DataName = keyof typeof DATA;

const names = Object.keys(DATA) as DataName[];

/** The names of the `data-*` chunks that never become part of a message. */
export const TRANSIENT_DATA: readonly DataName[] = names.filter((name) => DATA[name].transient);

const FOR_WATCHERS: ReadonlySet<string> = new Set(
  names.filter((name) => 'forWatchers' in DATA[name]).map((name) => `data-${name}`),
);

/**
 * Whether the server sends a chunk only to watchers: sockets with the subprotocol `duologue.v2`, and watch streams. Such a chunk reports a
 * change that any page of the session may have made, and that every page shows.
 */
export function isForWatchers({ type }: { readonly type: string }): boolean {
  return FOR_WATCHERS.has(type);
}
