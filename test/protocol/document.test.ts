import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import { z } from 'zod/v4';
import { readChatFrame } from '../../src/protocol/chat-frames.ts';
import { readFrame, readRequest, TRANSITIONS } from '../../src/protocol/index.ts';
import { APPROVAL_RESPONSE, CHAT_REPLIES, CHAT_REQUESTS } from '../../src/protocol/wire/chat-frames.ts';
import { CHUNK_TYPES, chunkSchema } from '../../src/protocol/wire/chunks.ts';
import { DATA } from '../../src/protocol/wire/data.ts';
import { CLIENT_FRAMES, SERVER_FRAMES } from '../../src/protocol/wire/frames.ts';
import { blockNames, type Example, examples, jsonSchema, written } from './support/reference.ts';

const text = readFileSync(new URL('../../PROTOCOL.md', import.meta.url), 'utf8');
const hint = 'after a wanted change: npm test -- test/protocol/document -u';

/** The rows of the table that follows a place in the text, cell by cell. */
function tableAfter(place: string): string[][] {
  const lines = text.slice(text.indexOf(place)).split('\n');
  const start = lines.findIndex((line) => line.startsWith('|---'));
  const rows = lines.slice(start + 1);
  const end = rows.findIndex((line) => !line.startsWith('|'));
  return rows.slice(0, end).map((row) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

const rule = (name: string) => `**${name}** `;

/** What a cell shows as code. */
function namesIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

const all = examples().map((example) => [example.name, example] as const);

/** What a strict check of a whole chunk or frame finds. */
function problemsIn(fields: z.ZodObject, type: string, value: object): unknown {
  return z.strictObject({ type: z.literal(type), ...fields.shape }).safeParse(value).error ?? null;
}

/** What the real reader or schema makes of an example. */
function problemsOf({ name, direction, value }: Example): unknown {
  const [, chatFrame] = /^\/ws (.+)$/.exec(name) ?? [];
  if (direction === 'client to server') {
    const text = JSON.stringify(value);
    return (chatFrame === undefined ? readFrame(text) : readChatFrame(text)) ? null : 'nothing was read';
  }
  if (chatFrame !== undefined)
    return problemsIn(CHAT_REPLIES[chatFrame as keyof typeof CHAT_REPLIES].fields, chatFrame, value);
  if (name === 'tool-approval-response') return problemsIn(APPROVAL_RESPONSE.fields, name, value);
  const schema = name in SERVER_FRAMES ? null : chunkSchema(name);
  if (schema !== null) return schema.safeParse(value).error ?? null;
  return SERVER_FRAMES[name as keyof typeof SERVER_FRAMES].fields.safeParse(value).error ?? null;
}

describe('PROTOCOL.md', () => {
  test(`[C1] [C10] [B1] [E1] [C12a] [W1] has the chunks, data, frames and errors that are declared; ${hint}`, async () => {
    const named = [...text.matchAll(/<!-- generated: (\w+) -->/g)].map(([, name]) => name);
    expect(named.sort()).toEqual([...blockNames].sort());
    await expect(written(text)).toMatchFileSnapshot('../../PROTOCOL.md');
  });

  test.each(all)('[C1] shows an example of %s that its own reader accepts', (name, example) => {
    expect(problemsOf(example)).toBeNull();
    expect(written(text).split(JSON.stringify(example.value))).toHaveLength(2);
    expect(written(text).split(`\n#### \`${name}\`\n`)).toHaveLength(2);
  });

  test('[C1] the check of the examples would notice a missing, an unknown and a wrong field', () => {
    const [, sound] = all.find(([name]) => name === 'data-sound') ?? [];
    const wrong = [{ n: 1 }, { ...DATA.sound.example, place: 1 }, { ...DATA.sound.example, at: '0' }];
    for (const data of wrong) {
      expect(problemsOf({ ...(sound as Example), value: { type: 'data-sound', data } })).not.toBeNull();
    }
  });

  test('[C15] [T6] [S29] shows posts that the server reads', () => {
    const posts = [...text.matchAll(/^```json\n(\{"id":"chat-1".*)\n```$/gm)].map(([, json = '']) =>
      JSON.parse(json),
    );
    expect(posts.map((post) => readRequest(post))).toEqual([
      {
        kind: 'answers',
        messageId: 'msg-2',
        answers: [
          {
            kind: 'decision',
            toolCallId: 'call-1',
            approvalId: 'approval-1',
            approved: true,
            input: { amount: 50 },
          },
        ],
      },
      { kind: 'continuation', messageId: 'msg-7' },
    ]);
  });

  test('[E2] says what an error consists of', () => {
    const [shape = ''] = namesIn(text.slice(text.indexOf(rule('E2'))));
    const fields = Object.entries(DATA.error.fields.shape).map(([name, inner]) =>
      inner.safeParse(undefined).success ? `${name}?` : name,
    );
    expect(shape).toBe(`{${fields.join(', ')}}`);
  });

  test('[T1] shows the arrows that there are', () => {
    const all = ['input-streaming', 'input-available', 'approval-requested', 'approval-responded'];
    const shown = tableAfter(rule('T1')).flatMap(([from, , to]) =>
      (from === 'any of the four' ? all : namesIn(from)).map((state) => `${state} ${namesIn(to)[0]}`),
    );
    const arrows = Object.entries(TRANSITIONS).flatMap(([from, row]) =>
      Object.values(row).map((to) => `${from} ${to}`),
    );
    expect(shown.sort()).toEqual([...new Set(arrows)].sort());
  });
});

describe('protocol.schema.json', () => {
  test(`holds the JSON Schema of everything that is declared; ${hint}`, async () => {
    const schema = `${JSON.stringify(jsonSchema(), null, 2)}\n`;
    await expect(schema).toMatchFileSnapshot('../../docs/protocol.schema.json');
  });

  test('is what a program that imports duologue/protocol/schema.json gets', () => {
    expect(createRequire(import.meta.url)('duologue/protocol/schema.json')).toEqual(jsonSchema());
  });

  test('has a definition for each chunk and frame, with its fields', () => {
    const { $defs } = jsonSchema() as { $defs: Record<string, { properties: object; required: string[] }> };
    const expected = [
      ...['chunk', 'clientFrame', 'serverFrame', 'chatRequest', 'chatReply', 'error'],
      ...['chunk.data-own', 'chunk.tool-approval-response'],
      ...[...CHUNK_TYPES, ...Object.keys(DATA).map((name) => `data-${name}`)].map((type) => `chunk.${type}`),
      ...Object.keys(CLIENT_FRAMES).map((type) => `clientFrame.${type}`),
      ...Object.keys(SERVER_FRAMES).map((type) => `serverFrame.${type}`),
      ...Object.keys(CHAT_REQUESTS).map((type) => `chatRequest.${type}`),
      ...Object.keys(CHAT_REPLIES).map((type) => `chatReply.${type}`),
    ];
    expect(Object.keys($defs).sort()).toEqual(expected.sort());
    expect($defs['chunk.tool-output-available']).toMatchObject({
      properties: { type: { const: 'tool-output-available' }, output: {}, preliminary: { const: true } },
      required: ['type', 'toolCallId', 'output'],
      additionalProperties: false,
    });
  });
});
