import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Capture, Fixture } from '../../scripts/fixtures/capture.ts';
import { normaliser } from '../../scripts/fixtures/normalise.ts';
import { SCENARIOS } from '../../scripts/fixtures/scenarios.ts';
import { type Chunk, Grammar } from '../../src/protocol/index.ts';
import { sdks } from '../support/sdks.ts';
import { capturedByNewBackends } from './support/new-capture.ts';
import { replay } from './support/replay.ts';

const folder = new URL('../../fixtures/frontend/', import.meta.url);
const readme = readFileSync(new URL('README.md', folder), 'utf8');
const fixtures = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .map((name) => ({
    file: name.replace(/\.json$/, ''),
    fixture: JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Fixture,
  }));
const chunksOf = ({ output }: Fixture) => output.expectedChunks as Chunk[];
const typesOf = (fixture: Fixture) => chunksOf(fixture).map(({ type }) => type);

/** Where the chunks of a call stand, by type. */
function placesOf(fixture: Fixture, toolCallId: string) {
  const place = (type: string) =>
    chunksOf(fixture).findIndex(
      (chunk) => chunk.type === type && 'toolCallId' in chunk && chunk.toolCallId === toolCallId,
    );
  return {
    start: place('tool-input-start'),
    input: place('tool-input-available'),
    request: place('tool-approval-request'),
    output: place('tool-output-available'),
    error: place('tool-output-error'),
  };
}

const callsIn = (fixture: Fixture) =>
  chunksOf(fixture).flatMap((chunk) => (chunk.type === 'tool-input-start' ? [chunk] : []));

/** What the person decided about each call, as the name of the file tells. */
function decisionsIn(file: string): boolean[] {
  if (/^(change_bgm|get_weather)/.test(file)) return [];
  if (file.includes('timeout')) return [false];
  const [, first, second] = /multiple-payments-(approve|deny)-(approve|deny)-/.exec(file) ?? [];
  if (first && second) return [first === 'approve', second === 'approve'];
  if (file.startsWith('multiple-payments')) return [true, true];
  return [file.includes('-approved-')];
}

describe('the fixtures', () => {
  it('are the ten conversations over SSE and the eleven over BIDI', () => {
    expect(fixtures.map(({ file }) => file).sort()).toEqual(SCENARIOS.map(({ file }) => file).sort());
    expect(fixtures.filter(({ fixture }) => fixture.mode === 'sse')).toHaveLength(10);
    expect(fixtures.filter(({ fixture }) => fixture.mode === 'bidi')).toHaveLength(11);
  });

  it('are each in the table of the README, with rules and pages that exist', () => {
    const rows = [...readme.matchAll(/^\| `([\w-]+)\.json` \| ([^|]+) \| ([^|]+) \|$/gm)];
    expect(rows.map(([, file]) => file).sort()).toEqual(SCENARIOS.map(({ file }) => file).sort());
    const protocol = readFileSync(new URL('../../PROTOCOL.md', import.meta.url), 'utf8');
    const pages = readdirSync(new URL('../../docs/decisions/', import.meta.url));
    for (const [, , rules = '', decisions = ''] of rows) {
      for (const rule of rules.split(', ')) expect(protocol).toContain(`\n**${rule.trim()}** `);
      for (const page of decisions.split(', ')) {
        expect(pages.some((name) => name.startsWith(`${page.trim()}-`))).toBe(true);
      }
    }
  });
});

describe.each(fixtures)('$file', ({ file, fixture }) => {
  const { mode, output } = fixture;
  const decisions = decisionsIn(file);
  const calls = callsIn(fixture);

  it('has the fields it should have, and no others', () => {
    expect(Object.keys(fixture)).toEqual([
      'description',
      'mode',
      'source',
      'scenario',
      'note',
      'input',
      'output',
    ]);
    expect(Object.keys(fixture.input)).toEqual(['messages', 'trigger']);
    expect(Object.keys(output)).toEqual([
      'rawEvents',
      'expectedChunks',
      'expectedDoneCount',
      'expectedStreamCompletion',
    ]);
    const texts = output.rawEvents.map((block) => /^data: (.*)\n\n$/s.exec(block)?.[1]);
    const chunks = texts.filter((text) => text !== '[DONE]').map((text) => JSON.parse(text ?? 'null'));
    expect(chunks).toEqual(output.expectedChunks);
    expect(texts.filter((text) => text === '[DONE]')).toHaveLength(output.expectedDoneCount);
    expect({ last: texts.at(-1), completed: output.expectedStreamCompletion }).toEqual({
      last: '[DONE]',
      completed: true,
    });
  });

  it('[C9] keeps to the order of chunks', () => {
    const grammar = new Grammar(mode);
    expect(chunksOf(fixture).flatMap((chunk) => grammar.push(chunk))).toEqual([]);
  });

  if (mode === 'bidi') {
    it('[B13] [B12] [T17] [C5] keeps the list for BIDI: one [DONE], each card in a step of its own, one card at a time', () => {
      expect(output.expectedDoneCount).toBe(1);
      const types = typesOf(fixture);
      const steps = types.flatMap((type, index) =>
        type === 'tool-approval-request' ? [[types[index - 1], types[index + 1]]] : [],
      );
      expect(steps).toEqual(decisions.map(() => ['start-step', 'finish-step']));
      expect(types.filter((type) => type === 'start-step')).toHaveLength(decisions.length);
      for (const [index, { toolCallId }] of calls.entries()) {
        const next = calls[index + 1];
        if (!next) continue;
        const { output: paid, error } = placesOf(fixture, toolCallId);
        expect(placesOf(fixture, next.toolCallId).start).toBeGreaterThan(Math.max(paid, error));
      }
    });
  } else {
    it('[S5] [S6] [C8a] [C5] keeps the list for SSE: two [DONE] around a card, all cards in the first response, no steps', () => {
      expect(output.expectedDoneCount).toBe(decisions.length > 0 ? 2 : 1);
      const first = output.rawEvents.slice(0, output.rawEvents.indexOf('data: [DONE]\n\n'));
      expect(first.filter((block) => block.includes('"tool-approval-request"'))).toHaveLength(
        decisions.length,
      );
      expect(typesOf(fixture).filter((type) => type.endsWith('-step'))).toEqual([]);
    });
  }

  it('[T4] [T5] [C9] keeps the list for cards: input before the card, and an end that fits the decision', () => {
    const ends = calls.map(({ toolCallId, toolMetadata }) => {
      const { start, input, request, output: paid, error } = placesOf(fixture, toolCallId);
      expect(start).toBeLessThan(input);
      if (toolMetadata?.asks) expect(input).toBeLessThan(request);
      else expect(request).toBe(-1);
      const end = chunksOf(fixture)[Math.max(paid, error)];
      expect(Math.max(paid, error)).toBeGreaterThan(Math.max(input, request));
      return end?.type === 'tool-output-error' ? end.errorText : end?.type;
    });
    const denial = file.includes('timeout') ? 'Approval request timed out' : 'User denied the tool call';
    const expected = decisions.map((approved) => (approved ? 'tool-output-available' : denial));
    expect(ends).toEqual(decisions.length > 0 ? expected : ['tool-output-available']);
  });
});

describe('a new capture', () => {
  let captures: Capture[] = [];

  beforeAll(async () => {
    captures = await capturedByNewBackends();
  }, 180_000);

  it.each(fixtures)('is the same as the file: $file', ({ file, fixture }) => {
    expect(captures.find((capture) => capture.file === file)?.fixture).toEqual(fixture);
  });

  describe.each(sdks)('played to the chat of ai %s', (_, sdk) => {
    it.each(SCENARIOS)(
      '[C11] ends with the message that the server has stored: $file',
      async ({ file, steps }) => {
        const capture = captures.find((one) => one.file === file);
        if (!capture) throw new Error(`${file} was not captured.`);
        const messages = await replay(sdk, capture.fixture, steps);
        expect(messages).toHaveLength(2);
        expect(messages[1]).toEqual(capture.stored);
      },
    );
  });
});

it('a capture has its ids numbered and its times levelled, and is otherwise as it came', () => {
  const normalise = normaliser();
  const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
  const other = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
  expect(
    [
      `data: {"type":"start","messageId":"msg_${id}","messageMetadata":{"createdAt":1794774519249}}\n\n`,
      `data: {"a":"approval_${other}","b":"msg_${id}","c":"function-call-13477571949301511187","d":"txn_db2b101333cc"}\n\n`,
      'data: {"approvalDescriptor":{"expiresAt":1794774550464},"timestamp":"2026-11-15T20:28:40.548Z"}\n\n',
      'data: {"delta":"12345678901234567890 is  a number, 1794774550464 too"}\n\n',
    ].map(normalise),
  ).toEqual([
    'data: {"type":"start","messageId":"msg_00000000-0000-4000-8000-000000000001","messageMetadata":{"createdAt":1767225600000}}\n\n',
    'data: {"a":"approval_00000000-0000-4000-8000-000000000002","b":"msg_00000000-0000-4000-8000-000000000001","c":"function-call-00000000000000000001","d":"txn_000000000001"}\n\n',
    'data: {"approvalDescriptor":{"expiresAt":1767225630000},"timestamp":"2026-01-01T00:00:00.000Z"}\n\n',
    'data: {"delta":"12345678901234567890 is  a number, 1794774550464 too"}\n\n',
  ]);
});
