import { z } from 'zod/v4';
import { clientId, entry } from './values.ts';

const requestId = clientId.optional().describe('names the request, so that it can be sent again (B24)');

/** The values of `trigger` in a `message` frame or a `POST /stream`: what the client requests. */
export const TRIGGERS = ['submit-message', 'regenerate-message', 'continue-message'] as const;

/** The data of every client frame. The server ignores unknown fields, except those that tools may see (T45). */
export const CLIENT_FRAMES = {
  message: entry({
    about:
      'A user message, or an assistant message with answers. The client may send it at any time. While the agent answers, the server queues a user message.',
    fields: z.looseObject({
      messages: z.array(z.unknown()).min(1).optional().describe('only the last one is read (C14)'),
      trigger: z.enum(TRIGGERS).optional().describe('`submit-message` when absent'),
      messageId: clientId.optional().describe('the message to continue, with `continue-message` (S29)'),
      requestId,
    }),
    example: {
      messages: [{ id: 'msg-1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
      requestId: 'r-1',
    },
  }),
  tool_result: entry({
    about:
      'The answer to an open call: a decision (`status`), an output (`result`), a failure (`error`), or `approved` together with an output or a failure. At least one of the three fields is present.',
    fields: z.looseObject({
      toolCallId: clientId,
      toolName: z.string().optional(),
      result: z.unknown().optional(),
      status: z.enum(['approved', 'rejected']).optional(),
      reason: z.string().optional().describe('why the user decided so'),
      error: z.string().optional(),
      payload: z
        .unknown()
        .optional()
        .describe('data of the user for the tool, together with a `status` (T31a)'),
      requestId,
    }),
    example: { toolCallId: 'call-1', status: 'approved', requestId: 'r-2' },
  }),
  audio_control: entry({
    about: 'Turns the microphone on or off. With `start`, the connection becomes the active connection.',
    fields: z.looseObject({
      action: z.enum(['start', 'stop']),
      detection: z
        .enum(['client', 'server'])
        .optional()
        .describe('which side detects the end of speech; `server` when absent (B29)'),
    }),
    example: { action: 'start', detection: 'server' },
  }),
  audio_chunk: entry({
    about:
      'Sound of the microphone, between `start` and `stop`: 16 kHz, mono, 16-bit PCM, at most ten seconds.',
    fields: z.looseObject({
      chunk: z.string().min(1).describe('base64'),
      sampleRate: z.number().optional().describe('16000'),
      channels: z.number().optional().describe('1'),
      bitDepth: z.number().optional().describe('16'),
    }),
    example: { chunk: 'AAABAAIA', sampleRate: 16_000 },
  }),
  video_frame: entry({
    about: 'A picture of the camera or the screen, for a model that accepts pictures.',
    fields: z.looseObject({
      mediaType: z.literal('image/jpeg'),
      data: z.string().min(1).describe('base64, at most 5 MB'),
    }),
    example: { mediaType: 'image/jpeg', data: '/9j/4AAQ' },
  }),
  interrupt: entry({
    about: 'Stops the agent. With `playedMs` the server also cuts the text that the user did not hear (B28).',
    fields: z.looseObject({
      reason: z.string().max(200).optional().describe('`speech`: the user began to speak'),
      messageId: clientId.optional(),
      playedMs: z.number().min(0).optional().describe('how much sound of the message was played'),
      requestId,
    }),
    example: { messageId: 'msg-2', playedMs: 1_200, requestId: 'r-4' },
  }),
  floor: entry({
    about: 'Makes this connection the active connection.',
    fields: z.looseObject({}),
    example: {},
  }),
  ping: entry({
    about: 'Asks for a `pong`.',
    fields: z.looseObject({
      timestamp: z
        .union([z.number(), z.string().max(64)])
        .optional()
        .describe('the `pong` repeats it'),
    }),
    example: { timestamp: 1_763_000_000_000 },
  }),
};

/** The bare server frames: JSON without an SSE block around it. The server sends every chunk in a block. */
export const SERVER_FRAMES = {
  pong: entry({
    about: 'The server answers a `ping` at once.',
    fields: z.object({
      timestamp: z
        .union([z.number(), z.string()])
        .nullable()
        .describe('that of the `ping`; null when it had none'),
    }),
    example: { timestamp: 1_763_000_000_000 },
  }),
};

/** The types of the bare server frames, with their fields. */
export type ServerFrame = {
  [T in keyof typeof SERVER_FRAMES]: { type: T } & z.infer<(typeof SERVER_FRAMES)[T]['fields']>;
}[keyof typeof SERVER_FRAMES];

/** The data of each client frame. */
export type FrameData = { [T in keyof typeof CLIENT_FRAMES]: z.infer<(typeof CLIENT_FRAMES)[T]['fields']> };
