import { z } from 'zod/v4';
import { DATA, type DataName } from './data.ts';
import { count, entry, id, json, messageMetadata, milliseconds, toolFacts } from './values.ts';

const author = z
  .object({ duologue: z.object({ author: z.string() }) })
  .optional()
  .describe('the agent that writes the block (C17)');
const artifact = z
  .object({
    duologue: z.object({ filename: z.string(), version: count, bytes: count.optional() }),
  })
  .optional()
  .describe('the name, the version and the size of an artifact (S12b)');
const metadata = messageMetadata.describe('to merge into the metadata of the message (C12)');
const example = { toolCallId: 'call-1', toolName: 'process_payment' };

/** The chunks that a server sends, except `data-*`. They are the part of the UI message stream that clients of `ai` 6 and of `ai` 7 accept. */
export const CHUNKS = {
  start: entry({
    about:
      'First chunk of a response. The chunks after it belong to the message `messageId`; a continuation repeats the id.',
    fields: z.object({ messageId: id, messageMetadata: metadata.optional() }),
    example: { messageId: 'msg-2', messageMetadata: { createdAt: 1_763_000_000_000 } },
  }),
  'text-start': entry({
    about: 'A text block begins.',
    fields: z.object({ id, providerMetadata: author }),
    example: { id: '1', providerMetadata: { duologue: { author: 'critic' } } },
  }),
  'text-delta': entry({
    about: 'The next piece of an open text block.',
    fields: z.object({ id, delta: z.string() }),
    example: { id: '1', delta: 'It is sunny' },
  }),
  'text-end': entry({
    about: 'A text block is complete.',
    fields: z.object({ id }),
    example: { id: '1' },
  }),
  'reasoning-start': entry({
    about: 'A block of reasoning begins.',
    fields: z.object({ id, providerMetadata: author }),
    example: { id: '0' },
  }),
  'reasoning-delta': entry({
    about: 'The next piece of an open reasoning block.',
    fields: z.object({ id, delta: z.string() }),
    example: { id: '0', delta: 'The user wants' },
  }),
  'reasoning-end': entry({
    about: 'A reasoning block is complete.',
    fields: z.object({ id }),
    example: { id: '0' },
  }),
  'tool-input-start': entry({
    about: 'The model calls a tool. State `input-streaming`.',
    fields: z.object({ toolCallId: id, toolName: z.string(), toolMetadata: toolFacts }),
    example: { ...example, toolMetadata: { runsOn: 'server', asks: true } },
  }),
  'tool-input-available': entry({
    about:
      'The input of the call is complete. State `input-available`. When the tool runs on the client and does not ask, the client runs it now.',
    fields: z.object({ toolCallId: id, toolName: z.string(), input: json, toolMetadata: toolFacts }),
    example: { ...example, input: { amount: 50 }, toolMetadata: { runsOn: 'server', asks: true } },
  }),
  'tool-approval-request': entry({
    about:
      'The server asks the user to approve the call. State `approval-requested`. The client shows an approval card.',
    fields: z.object({
      toolCallId: id,
      approvalId: id,
      reason: z
        .string()
        .optional()
        .describe('the text of `approvalDescriptor.message`, in the place where `ai` 7 expects it'),
      approvalDescriptor: z
        .object({
          expiresAt: milliseconds.optional().describe('absent: no time limit'),
          queued: z.number().optional().describe('how many more requests of the message follow'),
          message: z.string().optional().describe('what the request says to the user'),
          payload: z.unknown().optional().describe('data of the tool that asks (T31)'),
          signInUrl: z
            .string()
            .optional()
            .describe(
              'the page where the user signs in; the request then asks for a sign-in, not for a decision (T36)',
            ),
        })
        .optional(),
    }),
    example: {
      toolCallId: 'call-1',
      approvalId: 'approval-1',
      approvalDescriptor: { expiresAt: 1_763_000_030_000 },
    },
  }),
  'tool-output-available': entry({
    about:
      'The call has its output. State `output-available`. With `preliminary` the tool still runs, and a later chunk replaces this output (T40).',
    fields: z.object({
      toolCallId: id,
      output: json,
      preliminary: z.literal(true).optional().describe('the tool still runs'),
    }),
    example: { toolCallId: 'call-1', output: { paid: true } },
  }),
  'tool-output-error': entry({
    about:
      'The call ended without an output: it failed, was denied, timed out or was interrupted. State `output-error`.',
    fields: z.object({ toolCallId: id, errorText: z.string() }),
    example: { toolCallId: 'call-1', errorText: 'User denied the tool call: too dear' },
  }),
  'tool-output-denied': entry({
    about:
      'The user denied the call, on a server that is set to end denied calls with this chunk (T4a). State `output-denied`.',
    fields: z.object({ toolCallId: id }),
    example: { toolCallId: 'call-1' },
  }),
  'start-step': entry({
    about:
      'Over BIDI: approval requests follow; a client that builds messages ignores the chunk (C8). Over SSE: the next step of the message begins (C8b, T14d).',
    fields: z.object({}),
    example: {},
  }),
  'finish-step': entry({
    about:
      'Over BIDI: the approval requests are complete. A transport for `useChat` ends its response here (B12).',
    fields: z.object({}),
    example: {},
  }),
  file: entry({
    about: 'An image that the agent made, or an artifact that a tool saved (S12b).',
    fields: z.object({ url: z.string(), mediaType: z.string(), providerMetadata: artifact }),
    example: {
      url: '/sessions/chat-1/artifacts?name=report.pdf&version=0',
      mediaType: 'application/pdf',
      providerMetadata: { duologue: { filename: 'report.pdf', version: 0, bytes: 48_213 } },
    },
  }),
  'source-url': entry({
    about: 'A page that the model used.',
    fields: z.object({ sourceId: id, url: z.string(), title: z.string().optional() }),
    example: { sourceId: 's-1', url: 'https://example.org', title: 'Example' },
  }),
  'message-metadata': entry({
    about: 'Metadata to merge into the message before its `finish`.',
    fields: z.object({ messageMetadata: metadata }),
    example: { messageMetadata: { modelVersion: 'rules-1' } },
  }),
  error: entry({
    about: 'The agent or the model failed. `finish` with the reason `error` follows.',
    fields: z.object({ errorText: z.string().describe('for the user') }),
    example: { errorText: 'The model cannot be reached. Please try again.' },
  }),
  finish: entry({
    about: 'Last chunk of a response.',
    fields: z.object({
      finishReason: z.enum(['stop', 'length', 'content-filter', 'tool-calls', 'error', 'other']),
      messageMetadata: metadata.optional(),
    }),
    example: {
      finishReason: 'stop',
      messageMetadata: {
        usage: { input: 12, output: 5, cacheRead: null, cacheWrite: null, reasoning: null, total: 17 },
      },
    },
  }),
};

/** The type of each chunk in `CHUNKS`. */
export const CHUNK_TYPES = Object.keys(CHUNKS) as (keyof typeof CHUNKS)[];

/** The fields of every `data-*` chunk besides its `type`. */
export const dataEnvelope = z.object({
  data: json,
  id: id.optional().describe('a later chunk with the same type and id replaces the data'),
  transient: z.boolean().optional(),
});

type Shape = Readonly<Record<string, z.ZodType>>;

/**
 * Returns the schema of a whole chunk, `type` included; null when the protocol has no chunk of that type. The schema rejects unknown fields. `own`: the
 * names of the `data-*` chunks that the application declared, without `data-`.
 */
export function chunkSchema(type: string, own: readonly string[] = []): z.ZodType | null {
  if (Object.hasOwn(CHUNKS, type)) {
    const { fields } = CHUNKS[type as keyof typeof CHUNKS];
    return z.strictObject({ type: z.literal(type), ...(fields.shape as Shape) });
  }
  const name = type.replace(/^data-/, '');
  if (name !== type && own.includes(name))
    return z.strictObject({ type: z.literal(type), ...dataEnvelope.shape });
  if (name === type || !Object.hasOwn(DATA, name)) return null;
  const { fields } = DATA[name as DataName];
  return z.strictObject({
    type: z.literal(type),
    ...dataEnvelope.shape,
    data: z.strictObject(fields.shape as Shape),
  });
}
