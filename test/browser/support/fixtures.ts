import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Chunk } from '../../../src/protocol/index.ts';
import { root } from './built.ts';

/** One of the 21 captured conversations. */
export interface Scenario {
  name: string;
  file: string;
  mode: 'sse' | 'bidi';
  /** The user messages. */
  texts: string;
  /** The final text of the assistant. */
  text: string;
  /** The outcome of each approval card, in order. */
  cards: ('done' | 'denied' | 'expired')[];
  /** The tools that need no approval. */
  tools: string[];
}

/** The captured conversations. */
export const scenarios: readonly Scenario[] = readdirSync(resolve(root, 'fixtures/frontend'))
  .filter((name) => name.endsWith('.json'))
  .map((name) => read(resolve(root, 'fixtures/frontend', name), name.replace('.json', '')));

function read(file: string, name: string): Scenario {
  const { mode, input, output } = JSON.parse(readFileSync(file, 'utf8')) as {
    mode: 'sse' | 'bidi';
    input: { messages: { content?: string; parts?: { text: string }[] }[] };
    output: { expectedChunks: Chunk[] };
  };
  const chunks = output.expectedChunks;
  const asked = chunks.flatMap((chunk) => (chunk.type === 'tool-approval-request' ? [chunk.toolCallId] : []));
  const last = input.messages.at(-1);
  return {
    name,
    file,
    mode,
    texts: last?.content ?? last?.parts?.[0]?.text ?? '',
    text: chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : '')).join(''),
    cards: asked.map((id) => endOf(chunks, id)),
    tools: chunks.flatMap((chunk) =>
      chunk.type === 'tool-input-available' && !asked.includes(chunk.toolCallId) ? [chunk.toolName] : [],
    ),
  };
}

function endOf(chunks: readonly Chunk[], toolCallId: string): Scenario['cards'][number] {
  for (const chunk of chunks) {
    if (chunk.type === 'tool-output-available' && chunk.toolCallId === toolCallId) return 'done';
    if (chunk.type === 'tool-output-error' && chunk.toolCallId === toolCallId) {
      return chunk.errorText === 'Approval request timed out' ? 'expired' : 'denied';
    }
  }
  throw new Error(`The call ${toolCallId} has no end.`);
}
