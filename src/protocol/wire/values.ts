import type { UIMessage } from 'ai';
import { z } from 'zod/v4';
import { LIMITS } from '../limits.ts';

/** One entry of the protocol: a chunk, the data of a `data-*` chunk, a client frame or a server frame. */
export interface Entry<Fields extends z.ZodType = z.ZodType> {
  /** Who sends it, when, and what it means, in full sentences. */
  readonly about: string;
  /** Its fields. The types, the validators, the tables of PROTOCOL.md and the JSON Schema come from this schema. */
  readonly fields: Fields;
  /** An example as it crosses the wire. A test parses it with `fields`. */
  readonly example: z.input<Fields>;
}

/** Declares an entry. The compiler checks that the example has the type of the fields. */
export function entry<Fields extends z.ZodType, More extends object>(
  declared: Entry<Fields> & More,
): Entry<Fields> & More {
  return declared;
}

/** An id of any length, in a chunk or frame that the server sends. For ids that clients send, use `clientId`. */
export const id = z.string();

/** An id that a client may send. */
export const clientId = z.string().min(1).max(LIMITS.idLength).describe('1 to 256 characters');

export const count = z.number().int().nonnegative();
export const milliseconds = z.number().describe('milliseconds since 1970, by the clock of the server');
export const base64 = z.string().describe('base64');

/** Any JSON value. Undefined is not valid: `JSON.stringify` leaves out a field that is undefined, so the client would not get the field. */
export const json = z.unknown().refine((value) => value !== undefined);

/** Any JSON value as a type. */
export type JsonValue = null | string | number | boolean | JsonValue[] | { [key: string]: JsonValue };

const jsonValue = z.unknown() as unknown as z.ZodType<JsonValue, JsonValue>;

const tokens = z.number().nullable();

/** A question to the user: its kind, and what the user needs to answer it. */
export const question = z.object({
  kind: z
    .enum(['approve', 'answer', 'sign-in'])
    .describe('`approve`: a decision; `answer`: a value; `sign-in`: an authorisation elsewhere'),
  message: z.string().optional().describe('what the user reads'),
  schema: z
    .record(z.string(), jsonValue)
    .optional()
    .describe('JSON Schema that an answer must fit; absent: any JSON value'),
  payload: jsonValue.optional().describe('data of the tool or node that asks'),
  url: z.string().optional().describe('with `sign-in`: the page where the user signs in'),
});

/** A question as a client gets it. */
const askedQuestion = question.extend({
  expiresAt: milliseconds.optional().describe('when the question expires; absent: it waits without limit'),
});

/** `toolMetadata` of a call: where its tool runs, and whether the user is asked first. */
export const toolFacts = z.object({
  runsOn: z.enum(['server', 'client']),
  asks: z.boolean().describe('whether the user is asked for approval first'),
  optimistic: z
    .literal(true)
    .optional()
    .describe(
      'over SSE the server continues at once with an output of its own; the browser runs the tool and sends no output (T20)',
    ),
  question: askedQuestion
    .optional()
    .describe('the call is a question to the user, and its output is the answer'),
  agents: z
    .array(z.string())
    .optional()
    .describe(
      'the agents on the way to a call inside an agent that is used as a tool; the last one made the call',
    ),
  within: z
    .string()
    .optional()
    .describe('with `agents`: the id of the call whose tool is the agent that this call is inside'),
});

const tokenUsage = z.object({
  input: tokens,
  output: tokens,
  cacheRead: tokens,
  cacheWrite: tokens,
  reasoning: tokens,
  total: tokens,
  audio: z
    .object({ input: tokens, output: tokens, cacheRead: tokens })
    .optional()
    .describe('how many of these tokens are sound, where the model reports it'),
});

const citation = z.object({
  startIndex: z.number().nullable(),
  endIndex: z.number().nullable(),
  uri: z.string().nullable(),
  title: z.string().nullable(),
  license: z.string().nullable(),
});

/** What the server writes into `metadata` of an assistant message. */
export const messageMetadata = z.object({
  usage: tokenUsage
    .nullable()
    .optional()
    .describe('tokens of the whole message; null where the model reports none'),
  modelVersion: z.string().optional(),
  rawFinishReason: z.string().optional().describe('the finish reason in the words of the model'),
  finishReason: z
    .enum(['length', 'content-filter', 'stop'])
    .optional()
    .describe('why the message was cut; `stop` once it was continued'),
  citations: z.array(citation).optional(),
  audio: z
    .object({ chunks: z.number(), bytes: z.number(), sampleRate: z.number(), duration: z.number() })
    .optional()
    .describe('the sound of the message'),
  interrupted: z.boolean().optional().describe('whether the message was stopped before its end'),
  cutOff: z.boolean().optional().describe('whether the server stopped in the middle of the message'),
  failed: z.boolean().optional().describe('whether the message ended with an error'),
  createdAt: milliseconds.optional(),
});

/** The metadata fields that only the server writes; neither pages nor tools can set them. */
export const SERVER_METADATA: ReadonlySet<string> = new Set(Object.keys(messageMetadata.shape));

const outline = z.looseObject({
  id,
  role: z.enum(['system', 'user', 'assistant']),
  metadata: z.unknown().optional(),
  parts: z.array(z.looseObject({ type: z.string() })),
});

/** A message of the AI SDK. The schema checks only its outline, because the AI SDK defines the shapes of the parts. */
export const message = outline as unknown as z.ZodType<UIMessage, UIMessage>;

/** A request that the server accepted. */
export const acceptedRequest = z.object({
  requestId: id,
  messageId: id.optional().describe('the assistant message that will answer the request'),
});

/** A call that waits for the user or for a client. */
export const waitingCall = z.object({
  toolCallId: id,
  messageId: id,
  waitsFor: z.enum(['person', 'client']),
});

/** What a model accepts and produces besides text. */
export const modelCapabilities = z.object({
  hears: z.boolean().describe('accepts sound'),
  sees: z.boolean().describe('accepts pictures'),
  speaks: z.boolean().describe('produces sound'),
});

/** The files that a user message may have. */
export const attachments = z.object({
  types: z.array(z.string()).describe('media types; `text/*` is every type of text'),
  files: count.describe('the largest number of files'),
  imageBytes: count.describe('the largest size of an image'),
  fileBytes: count.describe('the largest size of another file'),
});
