import { describe, expect, test } from 'vitest';
import {
  APPROVAL_TIMED_OUT,
  CHUNK_TYPES,
  type Chunk,
  CONFIRMATION_TOOL,
  denialText,
  encodeBlock,
  INTERRUPTED,
  type MessageMetadata,
  OUTCOME_UNKNOWN,
  outputTimedOut,
  SIGNED_OUT,
  SUPERSEDED,
  stateConflict,
  TRANSIENT_DATA,
  toolTimedOut,
} from '../../src/protocol/index.ts';
import { DATA, type DataName } from '../../src/protocol/wire/data.ts';
import { sdks } from '../support/sdks.ts';
import { examples as declared } from './support/reference.ts';
import { buildWith } from './support/sdk.ts';

/** What `finish` can say, everything at once. */
const messageMetadata: Required<MessageMetadata> = {
  usage: { input: 1, output: null, cacheRead: 0, cacheWrite: null, reasoning: 5, total: 6 },
  modelVersion: 'rules-1',
  rawFinishReason: 'STOP',
  finishReason: 'stop',
  citations: [{ startIndex: 0, endIndex: 4, uri: 'https://example.org', title: null, license: null }],
  audio: { chunks: 3, bytes: 96_000, sampleRate: 24_000, duration: 2 },
  interrupted: true,
  cutOff: true,
  failed: false,
  createdAt: 1_763_000_000_000,
};

const toolMetadata = { runsOn: 'client', asks: true };
const call = { toolCallId: 'c', toolName: 'get_location' };

/** The chunk that only replays have (W8). */
const REPLAYED = 'tool-approval-response';

/** The declared example of every other chunk, and values that an encoder or the SDK might get wrong. */
const examples: Chunk[] = [
  ...declared().flatMap(({ name, direction, note, value }) =>
    direction === 'server to client' && note.startsWith('chunk') && name !== REPLAYED ? [value as Chunk] : [],
  ),
  { type: 'start', messageId: 'm' },
  { type: 'start', messageId: 'm', messageMetadata: { createdAt: 1 } },
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: '💸\u2028\ud83d' },
  { type: 'text-end', id: '0' },
  { type: 'reasoning-start', id: '1' },
  { type: 'reasoning-delta', id: '1', delta: 'hm' },
  { type: 'reasoning-end', id: '1' },
  { type: 'tool-input-start', ...call, toolMetadata },
  { type: 'tool-input-available', ...call, input: {}, toolMetadata },
  { type: 'tool-input-available', ...call, input: null, toolMetadata },
  { type: 'start-step' },
  { type: 'tool-approval-request', toolCallId: 'c', approvalId: 'approval_1' },
  {
    type: 'tool-approval-request',
    toolCallId: 'c',
    approvalId: 'approval_1',
    approvalDescriptor: { expiresAt: 1 },
  },
  { type: 'finish-step' },
  { type: 'tool-output-available', toolCallId: 'c', output: { latitude: 1 } },
  { type: 'tool-output-available', toolCallId: 'c', output: null },
  { type: 'tool-output-error', toolCallId: 'c', errorText: denialText('too dear') },
  { type: 'tool-output-denied', toolCallId: 'c' },
  { type: 'file', url: '/files/1', mediaType: 'image/png' },
  { type: 'source-url', sourceId: 's', url: 'https://example.org' },
  { type: 'source-url', sourceId: 's', url: 'https://example.org', title: 'Example' },
  { type: 'message-metadata', messageMetadata },
  { type: 'error', errorText: 'The model failed.' },
  ...(['stop', 'length', 'content-filter', 'tool-calls', 'error', 'other'] as const).map(
    (finishReason): Chunk => ({ type: 'finish', finishReason, messageMetadata }),
  ),
  { type: 'finish' },
  ...(Object.keys(DATA) as DataName[]).flatMap((name) => {
    const chunk = { type: `data-${name}`, data: DATA[name].example } as Chunk;
    return [chunk, { ...chunk, id: 'd' } as Chunk, { ...chunk, transient: true } as Chunk];
  }),
];

describe('what a server sends', () => {
  test('[C1] is shown here, every type of it', () => {
    const shown = new Set<string>(examples.map((chunk) => chunk.type));
    expect([...shown].sort()).toEqual(
      [...CHUNK_TYPES, ...Object.keys(DATA).map((name) => `data-${name}`)].sort(),
    );
  });

  describe.each(sdks)('to a client of ai %s', (version, sdk) => {
    test.each(examples.map((chunk) => [chunk.type, chunk] as const))(
      '[C1] %s passes, whole: %j',
      async (_type, chunk) => {
        const sent: unknown = JSON.parse(encodeBlock(chunk).slice('data: '.length));
        expect(sent).toEqual(chunk);
        expect(await sdk.uiMessageChunkSchema().validate?.(sent)).toEqual({ success: true, value: sent });
      },
    );

    test('[C1] [W8] the decision in a replay passes from ai 7 on', async () => {
      const decided = declared().find(({ name }) => name === REPLAYED)?.value;
      const isKnown = Number.parseInt(version, 10) >= 7;
      expect(await sdk.uiMessageChunkSchema().validate?.(decided)).toMatchObject({ success: isKnown });
    });

    test.each([
      { type: 'tool-approval' },
      { type: 'tool-output-error', toolCallId: 'c', error: 'x' },
      { type: 'finish', finishReason: 'unknown' },
      { type: 'error', error: 'x' },
    ])('[C1] the check would notice %j', async (chunk) => {
      expect(await sdk.uiMessageChunkSchema().validate?.(chunk)).toMatchObject({ success: false });
    });
  });

  test.each(sdks)(
    '[C12] ends with one of six reasons, and its metadata reaches the message of ai %s',
    async (_version, sdk) => {
      const ends = examples.filter((chunk) => chunk.type === 'finish').slice(1);
      expect(ends.map((chunk) => chunk.finishReason)).toEqual([
        'stop',
        'length',
        'content-filter',
        'tool-calls',
        'error',
        'other',
        undefined,
      ]);
      for (const end of ends.slice(0, 6)) {
        const message = await buildWith(sdk, { id: 'm', role: 'assistant', parts: [] }, [
          { type: 'start' },
          end,
        ]);
        expect(message.metadata).toEqual(messageMetadata);
      }
    },
  );

  test('[C10] keeps images and code in the message and nothing else of its own', () => {
    expect(Object.keys(DATA).filter((name) => !(TRANSIENT_DATA as readonly string[]).includes(name))).toEqual(
      ['image', 'executable-code', 'code-execution-result'],
    );
  });
});

describe('texts that programs may compare', () => {
  test('[T4] a denial has one text, with the reason after a colon', () => {
    expect([denialText(), denialText(''), denialText('too dear')]).toEqual([
      'User denied the tool call',
      'User denied the tool call',
      'User denied the tool call: too dear',
    ]);
  });

  test('[T5] every other end of a call has its text', () => {
    expect([
      APPROVAL_TIMED_OUT,
      outputTimedOut('get_location'),
      OUTCOME_UNKNOWN,
      SIGNED_OUT,
      toolTimedOut('process_payment'),
      stateConflict('process_payment'),
      SUPERSEDED,
      INTERRUPTED,
    ]).toEqual([
      'Approval request timed out',
      'Timeout waiting for get_location result',
      'The outcome is unknown: the server stopped while the tool was running. It was not run again.',
      'The person who approved is no longer signed in',
      'process_payment did not finish in time. The outcome is unknown.',
      'process_payment ran, but another call had changed the same data: nothing of it was kept',
      'Superseded by a newer message',
      'Interrupted by the user',
    ]);
    expect(CONFIRMATION_TOOL).toBe('adk_request_confirmation');
  });
});
