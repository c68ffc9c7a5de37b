import { readFileSync } from 'node:fs';
import { z } from 'zod/v4';
import { ERRORS, type ErrorCode, FRAME_VERSION } from '../../../src/protocol/index.ts';
import { APPROVAL_RESPONSE, CHAT_REPLIES, CHAT_REQUESTS } from '../../../src/protocol/wire/chat-frames.ts';
import { CHUNKS, chunkSchema, dataEnvelope } from '../../../src/protocol/wire/chunks.ts';
import { DATA, type DataName } from '../../../src/protocol/wire/data.ts';
import { CLIENT_FRAMES, SERVER_FRAMES } from '../../../src/protocol/wire/frames.ts';
import { type Entry, messageMetadata } from '../../../src/protocol/wire/values.ts';

/** A part of a JSON Schema, as far as it is read here. */
interface Json {
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: Json[];
  items?: Json;
  properties?: Record<string, Json>;
  required?: string[];
  description?: string;
  [key: string]: unknown;
}

const jsonOf = (schema: z.ZodType): Json => z.toJSONSchema(schema, { io: 'input' }) as Json;

const dataNames = Object.keys(DATA) as DataName[];

/** The fields of an object as tables show them: `name`, or `name?` when it may be absent. */
function fieldNames(schema: z.ZodType): string[] {
  const { properties = {}, required = [] } = jsonOf(schema);
  return Object.keys(properties).map((name) => (required.includes(name) ? name : `${name}?`));
}

const code = (text: string): string => `\`${text}\``;
const codes = (names: readonly string[]): string => names.map(code).join(', ') || 'none';
const link = (name: string, target = name): string => `[${code(name)}](#${target})`;

/** The name of a frame of `/ws` in the reference. Chunks have types such as `start` too. */
const chatName = (type: string): string => `/ws ${type}`;
const chatLink = (type: string): string => link(type, `ws-${type}`);

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`.replaceAll(/ +\|/g, ' |');
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

function chunkTable(): string {
  return table(
    ['chunk', 'fields (`?` optional)'],
    [
      ...Object.entries(CHUNKS).map(([type, { fields }]) => [link(type), codes(fieldNames(fields))]),
      [
        `${link('tool-approval-response')}, only in replays (W8)`,
        codes(fieldNames(APPROVAL_RESPONSE.fields)),
      ],
      ['`data-<name>` (C10, T42)', codes(fieldNames(dataEnvelope))],
    ],
  );
}

function dataTable(): string {
  return table(
    ['chunk', 'fields of `data` (`?` optional)', 'transient', 'for watchers only'],
    dataNames.map((name) => [
      link(`data-${name}`),
      codes(fieldNames(DATA[name].fields)),
      DATA[name].transient ? 'yes' : 'no',
      'forWatchers' in DATA[name] ? 'yes' : '',
    ]),
  );
}

function frameTable(): string {
  return table(
    ['client frame', 'fields of `data` (`?` optional)'],
    Object.entries(CLIENT_FRAMES).map(([type, { fields }]) => [link(type), codes(fieldNames(fields))]),
  );
}

/** The frames of `/ws`, which the AI SDK defines. */
function chatTable(): string {
  const rows = (from: string, frames: Record<string, { fields: z.ZodType }>) =>
    Object.entries(frames).map(([type, { fields }]) => [chatLink(type), from, codes(fieldNames(fields))]);
  return table(
    ['frame', 'from', 'fields (`?` optional)'],
    [...rows('client', CHAT_REQUESTS), ...rows('server', CHAT_REPLIES)],
  );
}

/** The comment above each error code says what the code means. */
function errorTable(): string {
  const source = readFileSync(new URL('../../../src/protocol/errors.ts', import.meta.url), 'utf8');
  const meanings = new Map(
    [...source.matchAll(/^ {2}\/\*\* (.+) \*\/\n {2}(\w+): \{/gm)].map(([, text = '', name = '']) => [
      name,
      text,
    ]),
  );
  return table(
    ['code', 'status', 'retry', 'close', 'meaning'],
    Object.entries(ERRORS).map(([name, error]) => {
      const meaning = meanings.get(name as ErrorCode);
      if (meaning === undefined) throw new Error(`The error code ${name} has no comment above it.`);
      const close = 'close' in error ? String(error.close) : '';
      return [code(name), String(error.status), error.retryable ? 'yes' : 'no', close, meaning];
    }),
  );
}

/** The type of a value, in a few words. */
function typeText(json: Json): string {
  if (json.const !== undefined) return code(JSON.stringify(json.const));
  if (json.enum !== undefined) return json.enum.map((value) => code(JSON.stringify(value))).join(' or ');
  if (json.anyOf !== undefined) return json.anyOf.map(typeText).join(' or ');
  if (json.type === 'array') return `list of ${typeText(json.items ?? {})}`;
  const { properties = {}, required = [] } = json;
  // A large object has a table of its own.
  const isSmall = Object.keys(properties).length > 0 && Object.keys(properties).length < 9;
  if (json.type === 'object' && isSmall) {
    const inside = Object.entries(properties).map(
      ([name, inner]) =>
        `${name}${required.includes(name) ? '' : '?'}: ${typeText(inner).replaceAll('`', '')}`,
    );
    return code(`{${inside.join(', ')}}`);
  }
  return [json.type ?? 'any JSON'].flat().join(' or ');
}

function fieldList(schema: z.ZodType): string[] {
  const { properties = {}, required = [] } = jsonOf(schema);
  return Object.entries(properties).map(([name, json]) => {
    const { description } = json;
    return `- ${code(required.includes(name) ? name : `${name}?`)} ${typeText(json)}${description === undefined ? '' : `: ${description}`}`;
  });
}

/** A chunk or a frame with an example, as it crosses the wire. */
export interface Example {
  name: string;
  direction: 'server to client' | 'client to server';
  note: string;
  about: string;
  fields: z.ZodType;
  value: object;
}

/** Every chunk and text frame of the protocol with its example. */
export function examples(): Example[] {
  return [
    ...Object.entries(CHUNKS).map(
      ([type, { about, fields, example }]): Example => ({
        name: type,
        direction: 'server to client',
        note: 'chunk',
        about,
        fields,
        value: { type, ...example },
      }),
    ),
    {
      name: 'tool-approval-response',
      direction: 'server to client',
      note: 'chunk of replays',
      about: APPROVAL_RESPONSE.about,
      fields: APPROVAL_RESPONSE.fields,
      value: { type: 'tool-approval-response', ...APPROVAL_RESPONSE.example },
    },
    ...dataNames.map((name): Example => {
      const { about, fields, example, transient } = DATA[name];
      const watchers = 'forWatchers' in DATA[name] ? ', for watchers only' : '';
      return {
        name: `data-${name}`,
        direction: 'server to client',
        note: `chunk, ${transient ? `transient${watchers}` : 'part of the message'}`,
        about,
        fields,
        value: { type: `data-${name}`, data: example, ...(transient ? { transient } : {}) },
      };
    }),
    ...Object.entries(CLIENT_FRAMES).map(
      ([type, { about, fields, example }]): Example => ({
        name: type,
        direction: 'client to server',
        note: 'text frame',
        about,
        fields,
        value: { type, version: FRAME_VERSION, data: example },
      }),
    ),
    ...Object.entries(SERVER_FRAMES).map(
      ([type, { about, fields, example }]): Example => ({
        name: type,
        direction: 'server to client',
        note: 'text frame, bare JSON',
        about,
        fields,
        value: { type, ...example },
      }),
    ),
    ...chatExamples('client to server', CHAT_REQUESTS),
    ...chatExamples('server to client', CHAT_REPLIES),
  ];
}

function chatExamples(direction: Example['direction'], frames: Readonly<Record<string, Entry>>): Example[] {
  return Object.entries(frames).map(([type, { about, fields, example }]) => ({
    name: chatName(type),
    direction,
    note: 'text frame of `/ws`, bare JSON',
    about,
    fields,
    value: { type, ...(example as object) },
  }));
}

function section({ name, direction, note, about, fields, value }: Example): string {
  const list = fieldList(fields);
  return [
    `#### \`${name}\`\n`,
    `${direction[0]?.toUpperCase()}${direction.slice(1)} · ${note}. ${about}\n`,
    ...(list.length === 0 ? [] : [`${list.join('\n')}\n`]),
    '```json',
    JSON.stringify(value),
    '```',
  ].join('\n');
}

const BLOCKS: Readonly<Record<string, () => string>> = {
  chunks: chunkTable,
  data: dataTable,
  frames: frameTable,
  chatFrames: chatTable,
  errors: errorTable,
  metadata: () => fieldList(messageMetadata).join('\n'),
  reference: () => examples().map(section).join('\n\n'),
};

/** The document with every block between `<!-- generated: name -->` and `<!-- end -->` written anew. */
export function written(document: string): string {
  return document.replaceAll(
    /(<!-- generated: (\w+) -->\n).*?(\n<!-- end -->)/gs,
    (_whole, begin: string, name: string, end: string) => {
      const make = BLOCKS[name];
      if (make === undefined) throw new Error(`PROTOCOL.md asks for an unknown block ${name}.`);
      return `${begin}\n${make()}\n${end}`;
    },
  );
}

/** The names of the blocks that can be generated. */
export const blockNames = Object.keys(BLOCKS);

/** The JSON Schema of everything that crosses the wire as JSON. */
export function jsonSchema(): object {
  const plain = (schema: z.ZodType, io: 'input' | 'output'): object => {
    const { $schema: _, ...rest } = z.toJSONSchema(schema, { io });
    return rest;
  };
  const chunkTypes = [...Object.keys(CHUNKS), ...dataNames.map((name) => `data-${name}`)];
  const chunks = chunkTypes.flatMap((type) => {
    const schema = chunkSchema(type);
    const about = type in CHUNKS ? CHUNKS[type as keyof typeof CHUNKS].about : aboutData(type);
    return schema === null ? [] : [[`chunk.${type}`, { description: about, ...plain(schema, 'input') }]];
  });
  const own = {
    description: aboutOwnData,
    ...plain(
      z.strictObject({
        type: z.string().regex(new RegExp(`^data-(?!(?:${dataNames.join('|')})$)`)),
        ...dataEnvelope.shape,
      }),
      'input',
    ),
  };
  const frames = Object.entries(CLIENT_FRAMES).map(([type, { about, fields }]) => [
    `clientFrame.${type}`,
    {
      description: about,
      ...plain(
        z.looseObject({ type: z.literal(type), version: z.literal(FRAME_VERSION).optional(), data: fields }),
        'input',
      ),
    },
  ]);
  const bare = Object.entries(SERVER_FRAMES).map(([type, { about, fields }]) => [
    `serverFrame.${type}`,
    { description: about, ...plain(z.strictObject({ type: z.literal(type), ...fields.shape }), 'input') },
  ]);
  const decision = [
    'chunk.tool-approval-response',
    {
      description: APPROVAL_RESPONSE.about,
      ...plain(
        z.strictObject({ type: z.literal('tool-approval-response'), ...APPROVAL_RESPONSE.fields.shape }),
        'input',
      ),
    },
  ];
  const chatRequests = Object.entries(CHAT_REQUESTS).map(([type, { about, fields }]) => [
    `chatRequest.${type}`,
    { description: about, ...plain(z.looseObject({ type: z.literal(type), ...fields.shape }), 'input') },
  ]);
  const chatReplies = Object.entries(CHAT_REPLIES).map(([type, { about, fields }]) => [
    `chatReply.${type}`,
    { description: about, ...plain(z.strictObject({ type: z.literal(type), ...fields.shape }), 'input') },
  ]);
  const refs = (entries: unknown[][]) => ({
    oneOf: entries.map(([name]) => ({ $ref: `#/$defs/${String(name)}` })),
  });
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'https://unpkg.com/duologue/docs/protocol.schema.json',
    title: 'Duologue protocol, version 1.0',
    description:
      'Chunks, text frames of /live, and frames of /ws (chatRequest, chatReply). PROTOCOL.md says who sends them when.',
    oneOf: ['chunk', 'clientFrame', 'serverFrame', 'chatRequest', 'chatReply'].map((name) => ({
      $ref: `#/$defs/${name}`,
    })),
    $defs: {
      chunk: refs([...chunks, decision, ['chunk.data-own']]),
      clientFrame: refs(frames),
      serverFrame: refs(bare),
      chatRequest: refs(chatRequests),
      chatReply: refs(chatReplies),
      error: {
        description: 'The body of an HTTP error.',
        ...plain(
          z.object({
            error: DATA.error.fields.extend({ code: z.enum(Object.keys(ERRORS) as ErrorCode[]) }),
          }),
          'input',
        ),
      },
      ...Object.fromEntries([
        ...chunks,
        decision,
        ['chunk.data-own', own],
        ...frames,
        ...bare,
        ...chatRequests,
        ...chatReplies,
      ]),
    },
  };
}

const aboutOwnData = 'Data of the application (T42).';

function aboutData(type: string): string {
  return DATA[type.slice('data-'.length) as DataName].about;
}
