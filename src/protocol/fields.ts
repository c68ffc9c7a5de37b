import type { CHUNK_TYPES, Chunk, DataParts } from './chunks.ts';

type Presence = 'required' | 'optional';

/** The fields of a type, and whether they may be left out. */
type FieldsOf<T> = {
  readonly [K in keyof T]-?: Partial<Pick<T, K>> extends Pick<T, K> ? 'optional' : 'required';
};

/** The fields of each chunk that a server sends, beside `type`. The AI SDK knows more; clients of ai 6 and 7 accept these. */
export const CHUNK_FIELDS: {
  readonly [T in (typeof CHUNK_TYPES)[number]]: Partial<Record<keyof Extract<Chunk, { type: T }>, Presence>>;
} = {
  start: { messageId: 'required', messageMetadata: 'optional' },
  'text-start': { id: 'required', providerMetadata: 'optional' },
  'text-delta': { id: 'required', delta: 'required' },
  'text-end': { id: 'required' },
  'reasoning-start': { id: 'required', providerMetadata: 'optional' },
  'reasoning-delta': { id: 'required', delta: 'required' },
  'reasoning-end': { id: 'required' },
  'tool-input-start': { toolCallId: 'required', toolName: 'required', toolMetadata: 'required' },
  'tool-input-available': {
    toolCallId: 'required',
    toolName: 'required',
    input: 'required',
    toolMetadata: 'required',
  },
  'start-step': {},
  'tool-approval-request': {
    toolCallId: 'required',
    approvalId: 'required',
    approvalDescriptor: 'optional',
  },
  'finish-step': {},
  'tool-output-available': { toolCallId: 'required', output: 'required' },
  'tool-output-error': { toolCallId: 'required', errorText: 'required' },
  'tool-output-denied': { toolCallId: 'required' },
  file: { url: 'required', mediaType: 'required' },
  'source-url': { sourceId: 'required', url: 'required', title: 'optional' },
  'message-metadata': { messageMetadata: 'required' },
  error: { errorText: 'required' },
  finish: { finishReason: 'required', messageMetadata: 'optional' },
};

/** The fields of the data of each `data-*` chunk. */
export const DATA_FIELDS: { readonly [N in keyof DataParts]: FieldsOf<DataParts[N]> } = {
  pcm: {
    chunk: 'required',
    sampleRate: 'required',
    channels: 'required',
    bitDepth: 'required',
    messageId: 'required',
  },
  audio: { mediaType: 'required', data: 'required' },
  image: { mediaType: 'required', data: 'required' },
  'executable-code': { language: 'required', code: 'required' },
  'code-execution-result': { outcome: 'required', output: 'required' },
  transcript: { role: 'required', text: 'required', finished: 'required' },
  error: {
    code: 'required',
    message: 'required',
    retryable: 'required',
    retryAfterMs: 'optional',
    requestId: 'optional',
  },
  accepted: { requestId: 'required', messageId: 'optional' },
  session: {
    sessionId: 'required',
    connectionId: 'required',
    epoch: 'required',
    resumed: 'required',
    newest: 'required',
    received: 'required',
    open: 'required',
    running: 'required',
    model: 'required',
    floor: 'required',
    nodes: 'optional',
  },
  sound: { n: 'required', messageId: 'required', sampleRate: 'required', at: 'required' },
  heard: { messageId: 'required', length: 'required' },
  settled: { toolCallId: 'required', messageId: 'required', errorText: 'required' },
  waiting: { reason: 'required', retryAt: 'required' },
  floor: { connectionId: 'required' },
  message: { message: 'required' },
  decided: {
    toolCallId: 'required',
    messageId: 'required',
    approved: 'required',
    reason: 'optional',
    by: 'required',
  },
  rewind: { messageId: 'required' },
  reset: { messages: 'required', older: 'optional' },
};

/** What is wrong with the fields of a chunk: those that are missing, and those that it should not have. */
export function wrongFields(chunk: Chunk): string[] {
  const { type, ...rest } = chunk;
  const name = type.startsWith('data-') ? type.slice('data-'.length) : null;
  if (name === null) {
    const known: Record<string, Readonly<Record<string, Presence>>> = CHUNK_FIELDS;
    const fields = known[type];
    return fields ? compare(fields, rest) : [];
  }
  if (!Object.hasOwn(DATA_FIELDS, name)) return ['is no data of this protocol'];
  const { data } = rest as { data?: unknown };
  const fields = DATA_FIELDS[name as keyof DataParts];
  return [
    ...compare({ data: 'required', id: 'optional', transient: 'optional' }, rest),
    ...compare(fields, typeof data === 'object' && data !== null ? data : {}),
  ];
}

function compare(fields: Readonly<Record<string, Presence>>, value: object): string[] {
  const present = Object.entries(value).flatMap(([name, field]) => (field === undefined ? [] : [name]));
  return [
    ...Object.keys(fields)
      .filter((name) => fields[name] === 'required' && !present.includes(name))
      .map((name) => `lacks "${name}"`),
    ...present.filter((name) => !Object.hasOwn(fields, name)).map((name) => `has a field "${name}"`),
  ];
}
