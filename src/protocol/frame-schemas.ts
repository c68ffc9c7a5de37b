import { z } from 'zod/v4';
import { LIMITS } from './limits.ts';
import { TRIGGERS } from './read.ts';

/** An id that a client gives. */
export const frameId = z.string().min(1).max(LIMITS.idLength);

/** The data of each client frame. What else is in it is passed over. */
export const FRAME_SCHEMAS = {
  message: z.looseObject({
    messages: z.array(z.unknown()).min(1).optional(),
    trigger: z.enum(TRIGGERS).optional(),
    messageId: frameId.optional(),
    requestId: frameId.optional(),
  }),
  tool_result: z.looseObject({
    toolCallId: frameId,
    toolName: z.string().optional(),
    result: z.unknown().optional(),
    status: z.enum(['approved', 'rejected']).optional(),
    reason: z.string().optional(),
    error: z.string().optional(),
    requestId: frameId.optional(),
  }),
  audio_chunk: z.looseObject({
    chunk: z.string().min(1),
    sampleRate: z.number().optional(),
    channels: z.number().optional(),
    bitDepth: z.number().optional(),
  }),
  audio_control: z.looseObject({
    action: z.enum(['start', 'stop']),
    detection: z.enum(['client', 'server']).optional(),
  }),
  video_frame: z.looseObject({ mediaType: z.literal('image/jpeg'), data: z.string().min(1) }),
  interrupt: z.looseObject({
    reason: z.string().max(200).optional(),
    messageId: frameId.optional(),
    playedMs: z.number().min(0).optional(),
    requestId: frameId.optional(),
  }),
  floor: z.looseObject({}),
  ping: z.looseObject({ timestamp: z.union([z.number(), z.string().max(64)]).optional() }),
};
