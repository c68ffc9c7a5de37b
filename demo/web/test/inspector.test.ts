import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { commandOf } from '../src/inspector/commands.ts';
import { linesOf } from '../src/inspector/lines.ts';
import { nodesIn } from '../src/inspector/nodes.ts';
import { redacted } from '../src/inspector/redact.ts';
import { type Row, RowFold } from '../src/inspector/rows.ts';
import { rulesIn, rulesOf } from '../src/inspector/rules.ts';
import type { Recording } from '../src/wire/recording.ts';
import type { WireEvent } from '../src/wire/wire-event.ts';

const protocol = readFileSync(new URL('../../../PROTOCOL.md', import.meta.url), 'utf8');
const block = (chunk: object) => `data: ${JSON.stringify(chunk)}\n\n`;
const heard = (at: number, ...chunks: object[]): WireEvent => ({
  at,
  channel: 1,
  type: 'text',
  direction: 'in',
  text: chunks.map(block).join(''),
});
const texts = (at: number, frame: object): WireEvent => ({
  at,
  channel: 1,
  type: 'text',
  direction: 'out',
  text: JSON.stringify({ version: '1.0', ...frame }),
});
const delta = (text: string) => ({ type: 'text-delta', id: 't', delta: text });
const message = (text: string) => ({
  type: 'message',
  data: { requestId: 'r0', messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text }] }] },
});
const conversation: WireEvent[] = [
  { at: 0, channel: 1, type: 'open', path: '/live?session=a&last=e-3' },
  texts(100, message("It's Alice, 花子 & 😀")),
  heard(150, { type: 'start', messageId: 'm1' }, { type: 'text-start', id: 't' }, delta('Al')),
  heard(160, delta('ice \ud83d'), delta('\ude00!')),
  heard(170, {
    type: 'tool-input-available',
    toolCallId: 'c1',
    toolName: 'pay',
    input: { to: 'Alice', id: 'secret', amount: 1234.5, list: [7, true, null] },
  }),
  heard(180, {
    type: 'tool-output-error',
    toolCallId: 'c1',
    errorText: 'User denied the tool call: too dear',
  }),
];

function rowsOf(events: readonly WireEvent[]): Row[] {
  const fold = new RowFold();
  return events.flatMap((event) => fold.push(event));
}

describe('the nodes behind a conversation', () => {
  const session = (nodes?: object) => ({
    type: 'data-session',
    data: { sessionId: 's', ...(nodes && { nodes }) },
  });

  test('are those that were told last; one alone is not named', () => {
    const first = heard(10, session({ serves: 'http://10.0.0.1:3000', owns: 'http://10.0.0.2:3000' }));
    const second = heard(90, session({ serves: 'http://10.0.0.3:3000', owns: 'http://10.0.0.3:3000' }));
    expect(nodesIn(rowsOf([first, ...conversation]))).toEqual({
      serves: '10.0.0.1:3000',
      owns: '10.0.0.2:3000',
    });
    expect(nodesIn(rowsOf([first, ...conversation, second]))).toEqual({
      serves: '10.0.0.3:3000',
      owns: '10.0.0.3:3000',
    });
    expect(nodesIn(rowsOf([heard(5, session()), ...conversation]))).toBeNull();
    expect(nodesIn(rowsOf(conversation))).toBeNull();
  });
});

describe('the lines of the inspector', () => {
  test('group rows by turn and fold runs of deltas, until they are unfolded', () => {
    const rows = rowsOf(conversation);
    const brief = (unfolded: string[]) =>
      linesOf(rows, new Set(unfolded)).map((line) => {
        if (line.kind === 'turn')
          return [line.turn.number, line.turn.title, line.turn.firstTokenMs, line.turn.wire];
        return line.kind === 'run'
          ? `${line.run.type} ×${line.run.rows.length} ${line.run.text}`
          : line.row.type;
      });
    expect(brief([])).toEqual([
      [0, '', null, 'BIDI'],
      'open',
      [1, "It's Alice, 花子 & 😀", 50, 'BIDI'],
      'message',
      'start',
      'text-start',
      'text-delta ×3 Alice 😀!',
      'tool-input-available',
      'tool-output-error',
    ]);
    expect(brief(['run-5'])).toHaveLength(12);
  });

  test('fold a run of deltas as one, though pings came in between', () => {
    const ping = texts(110, { type: 'ping', data: { timestamp: 1 } });
    const pong: WireEvent = { ...heard(111), text: '{"type":"pong","timestamp":1}' } as WireEvent;
    const rows = rowsOf([
      heard(100, { type: 'start', messageId: 'm' }, delta('a')),
      ping,
      pong,
      heard(120, delta('b')),
      ping,
    ]);
    const lines = linesOf(rows, new Set()).flatMap((line) =>
      line.kind === 'turn' ? [] : line.kind === 'run' ? line.run.text : line.row.type,
    );
    expect(lines).toEqual(['start', 'ab', 'ping', 'pong', 'ping']);
  });

  test('begin a turn with what was said on another page, and not twice with what was said here', () => {
    const spoken = (id: string, text: string) => ({
      type: 'data-message',
      data: { message: { id, role: 'user', parts: [{ type: 'text', text }] } },
    });
    const rows = rowsOf([
      ...conversation,
      heard(200, spoken('u1', 'here')),
      heard(210, spoken('u2', 'elsewhere'), { type: 'data-floor', data: { connectionId: 'b' } }),
      heard(260, { type: 'start', messageId: 'm2' }, delta('Yes')),
    ]);
    const turns = linesOf(rows, new Set()).flatMap((line) => (line.kind === 'turn' ? [line.turn] : []));
    expect(turns.map(({ title, firstTokenMs }) => [title, firstTokenMs])).toEqual([
      ['', null],
      ["It's Alice, 花子 & 😀", 50],
      ['elsewhere', 50],
    ]);
    expect(rows.slice(-4, -2).map(({ type, messageId }) => [type, messageId])).toEqual([
      ['data-message', 'u2'],
      ['data-floor', null],
    ]);
  });

  test('know the message and the call that they are about', () => {
    const about = rowsOf(conversation).map(({ messageId, toolCallId }) => [messageId, toolCallId]);
    expect(about[1]).toEqual(['u1', null]);
    expect(about[4]).toEqual(['m1', null]);
    expect(about.at(-1)).toEqual(['m1', 'c1']);
  });
});

describe('the rules of the protocol', () => {
  const rules = rulesIn(protocol);
  const types = [...protocol.matchAll(/^\| ((?:`[a-z_-]+`(?:, )?)+) \|/gm)]
    .flatMap(([, names = '']) => names.match(/[a-z_-]+/g) ?? [])
    .filter((type) =>
      /^(start|finish|text-|reasoning-|tool[-_]|file|source-|message|error|data-|interrupt|floor|ping|audio_|video_)/.test(
        type,
      ),
    );

  test.each([...new Set(types)])('one that is there stands beside every “%s”', (type) => {
    const numbers = rulesOf(type);
    expect(numbers.length).toBeGreaterThan(0);
    expect(numbers.filter((number) => !rules.has(number))).toEqual([]);
    // C10 only lists all data chunks. A chunk with a rule of its own must show that rule.
    const own = [...rules].filter(([number, text]) => number !== 'C10' && text.includes(`\`${type}\``));
    if (type.startsWith('data-') && own.length > 0) expect(numbers).not.toEqual(['C10']);
  });

  test('are found by their numbers, also for requests', () => {
    expect(rules.get('C7')).toMatch(/^A text or reasoning block/);
    expect([
      rulesOf('POST /stream'),
      rulesOf('GET /sessions/…'),
      rulesOf('POST /sessions/…/watch'),
      rulesOf('no such'),
    ]).toEqual([['S1', 'S2'], ['S18'], ['S20', 'B32'], []]);
  });
});

describe('a command', () => {
  const commands = rowsOf([
    ...conversation,
    {
      at: 200,
      channel: 2,
      type: 'request',
      method: 'POST',
      path: '/stream',
      body: `{"a":"it's","requestId":"r1"}`,
    },
    { at: 210, channel: 3, type: 'request', method: 'GET', path: '/sessions/a?before=b', body: null },
  ]).map((row) => commandOf(row, 'http://localhost:3000'));

  test('says again what was sent, as a shell reads it', () => {
    expect(commands.filter((command) => command !== null)).toEqual([
      {
        tool: 'wscat',
        text: expect.stringMatching(
          /^wscat -s duologue\.v2 -c 'ws:\/\/localhost:3000\/live\?session=a' -w 30 -x '\{(?!.*requestId).*It'\\''s Alice.*\}'$/,
        ),
      },
      {
        tool: 'curl',
        text: `curl -N -X POST 'http://localhost:3000/stream' -H 'content-type: application/json' -d '{"a":"it'\\''s"}'`,
      },
      { tool: 'curl', text: "curl -N 'http://localhost:3000/sessions/a?before=b'" },
    ]);
  });
});

describe('a recording without its words', () => {
  const recording: Recording = {
    format: 'duologue-recording',
    version: 1,
    mode: 'bidi',
    sessionId: 'a',
    recordedAt: '',
    isCut: false,
    // Over HTTP a block may arrive in several pieces, as on channel 2.
    events: [
      ...conversation,
      { at: 200, channel: 2, type: 'response', status: 200, contentType: 'text/event-stream' },
      { at: 201, channel: 2, type: 'text', direction: 'in', text: block(delta('Bob')).slice(0, 30) },
      { at: 202, channel: 2, type: 'text', direction: 'in', text: block(delta('Bob')).slice(30) },
      { at: 203, channel: 3, type: 'response', status: 200, contentType: 'application/json' },
      { at: 204, channel: 3, type: 'text', direction: 'in', text: '{"id":"a","title":"Al' },
      { at: 205, channel: 3, type: 'text', direction: 'in', text: 'ice"}' },
    ],
    messages: [
      {
        id: 'm1',
        role: 'assistant',
        parts: [
          { type: 'text', text: 'Alice 😀!', state: 'done' },
          { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,QUJD' },
        ],
        metadata: { modelVersion: 'm-1', createdAt: 5 },
      },
    ],
  };
  const bare = redacted(recording);

  test('has none of them left, and the shape of all of them', () => {
    const text = JSON.stringify(bare);
    for (const word of ['Alice', '花子', '😀', 'secret', '1234', 'dear', 'Bob', 'QUJD'])
      expect(text).not.toContain(word);
    expect(
      linesOf(rowsOf(bare.events), new Set()).flatMap((line) => (line.kind === 'run' ? line.run.text : [])),
    ).toEqual(['xxxxx xx!']);
    expect(bare.messages).toMatchObject([
      {
        id: 'm1',
        parts: [{ text: 'xxxxx xx!' }, { mediaType: 'image/png' }],
        metadata: { modelVersion: 'm-1', createdAt: 5 },
      },
    ]);
    const call = rowsOf(bare.events).find(({ type }) => type === 'tool-input-available');
    expect(JSON.parse(call?.body ?? '')).toEqual({
      type: 'tool-input-available',
      toolCallId: 'c1',
      toolName: 'pay',
      input: { to: 'xxxxx', id: 'xxxxxx', amount: 0, list: [0, true, null] },
    });
    expect(text).toContain('User denied the tool call: xxx xxxx');
    expect(text).toContain('{\\"id\\":\\"a\\",\\"title\\":\\"xxxxx\\"}');
  });
});
