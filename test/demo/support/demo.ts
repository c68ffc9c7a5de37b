import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BaseLlm } from '@google/adk';
import { afterEach } from 'vitest';
import type { WeatherOptions } from '../../../demo/tools/weather/definition.ts';
import { EmbeddedModel } from '../../../src/models/index.ts';
import type { Chunk } from '../../../src/protocol/index.ts';
import { type Served, serve } from '../../../src/server/adapters/node.ts';
import { type AuditLine, createDuologue, type DuologueOptions } from '../../../src/server/index.ts';
import { openSqliteStore } from '../../../src/server/sqlite/index.ts';
import { type Posted, read, say } from '../../support/harness.ts';
import { TestSocket } from '../../support/socket.ts';
import { demoAgent, rules } from './agent.ts';

/** The cleanups after a test, last first. */
const made: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const takeDown of made.splice(0).reverse()) await takeDown();
});

/** Does this after the test, before what was registered earlier. */
export function afterwards(takeDown: () => Promise<void> | void): void {
  made.push(takeDown);
}

/** A folder that is removed after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'duologue-demo-'));
  afterwards(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The ids that are needed to answer an approval request. */
export interface Card {
  toolCallId: string;
  approvalId: string;
}

/** The demo's agent behind the real server, in this process. */
export interface Demo {
  /** Posts a user message over SSE. */
  say(text: string, session?: string): Promise<Posted>;
  /** Answers approval requests over SSE, all in one request. */
  decide(
    cards: readonly (Card & { output?: unknown })[],
    approved: boolean[],
    session?: string,
  ): Promise<Posted>;
  audit(session?: string): Promise<AuditLine[]>;
  messages(session?: string): Promise<{ role: string; parts: unknown[] }[]>;
  /** Opens a socket; the server listens from then on. */
  connect(session?: string): Promise<TestSocket>;
  close(): Promise<void>;
}

/** Makes the demo with the embedded model, or another one. */
export function demo(
  options: Partial<DuologueOptions> & { model?: BaseLlm; weather?: Partial<WeatherOptions> } = {},
): Demo {
  const { model = new EmbeddedModel({ paceMs: 0, rules }), weather, ...rest } = options;
  const agent = demoAgent({ model, dataDir: join(tmpdir(), 'duologue-unused'), weather });
  const duologue = createDuologue({ agent, ...rest });
  let served: Promise<Served> | undefined;
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= served ? served.then((one) => one.close()) : duologue.close();
    return closed;
  };
  afterwards(close);
  const post = async (body: object) =>
    read(
      await duologue.fetch(
        new Request('http://localhost/stream', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      ),
    );
  const get = (path: string) => duologue.fetch(new Request(`http://localhost${path}`));
  return {
    close,
    say: (text, session = 'chat-1') => post(say(text, session, crypto.randomUUID())),
    decide: (cards, approved, session = 'chat-1') =>
      post({
        id: session,
        messages: [
          {
            role: 'assistant',
            parts: cards.map(({ toolCallId, approvalId, ...more }, index) => ({
              type: 'tool-any',
              toolCallId,
              state: 'output' in more ? 'output-available' : 'approval-responded',
              approval: { id: approvalId, approved: approved[index] ?? false },
              ...more,
            })),
          },
        ],
      }),
    async audit(session = 'chat-1') {
      const text = await (await get(`/approvals/${session}`)).text();
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as AuditLine);
    },
    async messages(session = 'chat-1') {
      return ((await (await get(`/sessions/${session}`)).json()) as { messages: [] }).messages;
    },
    async connect(session) {
      served ??= serve(duologue, { port: 0 });
      const url = `${(await served).url.replace('http', 'ws')}/live`;
      const socket = new TestSocket(session === undefined ? url : `${url}?session=${session}`);
      await socket.opened();
      return socket;
    },
  };
}

/** Opens the demo's database in a folder. */
export function sqliteIn(folder: string) {
  return openSqliteStore(folder);
}

/** The chunks of one type. */
export function chunksOf<T extends Chunk['type']>(
  chunks: readonly Chunk[],
  type: T,
): Extract<Chunk, { type: T }>[] {
  return chunks.filter((chunk): chunk is Extract<Chunk, { type: T }> => chunk.type === type);
}

/** The approval requests of a response. */
export function cardsIn({ chunks }: Posted): Card[] {
  return chunksOf(chunks, 'tool-approval-request').map(({ toolCallId, approvalId }) => ({
    toolCallId,
    approvalId,
  }));
}

/** The outputs and errors of a response, in order. */
export function outcomesIn(chunks: readonly Chunk[]): unknown[] {
  return chunks.flatMap((chunk) =>
    chunk.type === 'tool-output-available'
      ? [chunk.output]
      : chunk.type === 'tool-output-error'
        ? [chunk.errorText]
        : [],
  );
}

/** The text of a response. */
export function wordsIn(chunks: readonly Chunk[]): string {
  return chunksOf(chunks, 'text-delta')
    .map(({ delta }) => delta)
    .join('');
}
