import { z } from 'zod/v4';
import { clientId, count, entry, id, json } from './values.ts';

const requestId = clientId.describe('names the request; every frame of its response repeats it');
const chat = clientId.describe('the session');
const ofApplication = {
  headers: z.unknown().optional().describe('ignored'),
  body: z.unknown().optional().describe('fields that tools may see (T45); ignored otherwise'),
  metadata: z.unknown().optional().describe('ignored'),
};

/**
 * The frames that a `WebSocketChatTransport` of `ai` 7 sends to `/ws`. The AI SDK defines them, so they have no envelope and no version. Applications set
 * `headers`, `body` and `metadata`. The server reads none of these three, except fields of `body` that tools may see (T45).
 */
export const CHAT_REQUESTS = {
  send: entry({
    about: 'A user message, or an assistant message with answers. The server answers it like `POST /stream`.',
    fields: z.looseObject({
      requestId,
      id: chat,
      messages: z.array(z.unknown()).min(1).describe('only the last one is read (C14)'),
      trigger: z.enum(['submit-message', 'regenerate-message']),
      messageId: z.string().optional().describe('the edited user message, or the answer to write again'),
      ...ofApplication,
    }),
    example: {
      requestId: 'q-1',
      id: 'chat-1',
      messages: [{ id: 'msg-1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
      trigger: 'submit-message',
      headers: {},
      body: {},
    },
  }),
  resume: entry({
    about: 'Asks for the newest response of a chat from its first chunk on.',
    fields: z.looseObject({ requestId, id: chat, ...ofApplication }),
    example: { requestId: 'q-2', id: 'chat-1', headers: {}, body: {} },
  }),
  abort: entry({
    about:
      'The client no longer reads the response. The server stops the turn, unless it is set to let the turn continue (W9).',
    fields: z.looseObject({ requestId }),
    example: { requestId: 'q-1' },
  }),
};

/** The frames that the server sends to a `WebSocketChatTransport` of `ai` 7. */
export const CHAT_REPLIES = {
  start: entry({
    about: 'There is a response to resume. Its chunks follow.',
    fields: z.object({ requestId: id }),
    example: { requestId: 'q-2' },
  }),
  chunk: entry({
    about: 'One chunk of the response. The first has the number 0.',
    fields: z.object({ requestId: id, sequence: count, chunk: json }),
    example: { requestId: 'q-1', sequence: 0, chunk: { type: 'start', messageId: 'msg-2' } },
  }),
  end: entry({
    about: 'The response is complete.',
    fields: z.object({ requestId: id }),
    example: { requestId: 'q-1' },
  }),
  error: entry({
    about: 'The server refused the request.',
    fields: z.object({ requestId: id, errorText: z.string().describe('for the user') }),
    example: { requestId: 'q-1', errorText: 'Too many messages are waiting. Try again in a moment.' },
  }),
  'no-active': entry({
    about: 'There is no response to resume.',
    fields: z.object({ requestId: id }),
    example: { requestId: 'q-2' },
  }),
};

/** A decision on an approval request, as `ai` 7 reads it. Clients of `ai` 6 do not know it, so it is none of `CHUNKS`. */
export const APPROVAL_RESPONSE = entry({
  about:
    'The decision of the user on an approval request earlier in the same response. The server sends it only in replays, after the decided request (W8).',
  fields: z.object({ approvalId: id, approved: z.boolean(), reason: z.string().optional() }),
  example: { approvalId: 'approval-1', approved: true },
});

type Frames<Entries extends Record<string, { fields: z.ZodType }>> = {
  [Type in keyof Entries]: { type: Type } & z.infer<Entries[Type]['fields']>;
}[keyof Entries];

/** A frame of a `WebSocketChatTransport` after validation. */
export type ChatRequest = Frames<typeof CHAT_REQUESTS>;

/** A frame that the server sends to a `WebSocketChatTransport`. */
export type ChatReply = Frames<typeof CHAT_REPLIES>;

/** The type of the chunk that `APPROVAL_RESPONSE` declares. */
export type ApprovalResponse = { type: 'tool-approval-response' } & z.infer<typeof APPROVAL_RESPONSE.fields>;
