/**
 * Scores the response parser on a folder of recorded responses.
 *
 *   npm run corpus -- DIR
 *
 * DIR holds `expected.jsonl`: one row a file, with the facts that the record must show. The fields of a row are those
 * of the folder's own README. Exit code 0 when every row is right, 1 when one is not, 2 when DIR cannot be read.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type ParsedResponse, type Part, parse } from '../src/parse/index.ts';

/** Expectations that the recorded bytes contradict, with the proof. */
const WRONG_EXPECTATIONS: Readonly<Record<string, { fact: string; proof: string }>> = {
  'azure/azure-deepseek-reasoning.1.chunks.txt': {
    fact: 'reasoning',
    proof: '784 chunks carry delta.reasoning_content; the whole response of the same model expects its text',
  },
};

interface Row {
  file: string;
  provider: string;
  api: string;
  streaming: boolean;
  status: number;
  truth: string;
  family?: string;
  headers?: Record<string, string>;
  skip?: string[];
  expected: Record<string, unknown>;
}

/** Text is passed unchanged: the parser detects whether it is one body or one event per line. */
function readResponse(path: string): unknown {
  return /\.(json|txt|sse|jsonl)$/.test(path) ? readFileSync(path, 'utf8') : readFileSync(path);
}

function rawType(part: Part): string {
  const raw = 'raw' in part ? part.raw : undefined;
  return typeof raw === 'object' && raw !== null && 'type' in raw ? String(raw.type) : '';
}

/** Blocks and items that are neither text, reasoning, refusal nor a plain call. */
function otherItems(record: ParsedResponse): string[] {
  const anthropic = record.api === 'anthropic.messages';
  return record.content
    .filter((part) => {
      if (part.type === 'tool_call') return !anthropic && part.kind !== 'function' && part.kind !== 'custom';
      return part.type === 'tool_result' || part.type === 'compaction' || part.type === 'other';
    })
    .map(rawType);
}

function isPlainCall(use: ParsedResponse['toolUses'][number]): boolean {
  return use.executor === 'client' && (use.kind === 'function' || use.kind === 'custom');
}

function callsLike(expected: unknown, record: ParsedResponse, executor: 'client' | 'server'): unknown {
  const wanted = Array.isArray(expected) ? expected : [];
  const uses = record.toolUses.filter((use) =>
    executor === 'client' ? isPlainCall(use) : use.executor === 'server',
  );
  return uses.map((use, i) => ({
    ...(wanted[i]?.id === undefined ? {} : { id: use.id }),
    name: use.name,
    args: use.input,
    ...(use.kind === 'custom' ? { custom: true } : {}),
  }));
}

const ZERO_IS_MISSING = new Set(['cacheRead', 'cacheWrite', 'reasoning']);

function compareUsage(expected: unknown, record: ParsedResponse): string[] {
  const usage = record.usage;
  if (expected === null || expected === undefined) return usage === null ? [] : ['usage should be null'];
  const got: Record<string, unknown> = {
    input: usage?.input ?? null,
    inputNoCache: usage?.inputUncached ?? null,
    cacheRead: usage?.cacheRead ?? null,
    cacheWrite: usage?.cacheWrite ?? null,
    output: usage?.output ?? null,
    reasoning: usage?.reasoning ?? null,
    total: usage?.total ?? null,
    iterations: usage?.iterations?.length ?? null,
  };
  const wanted = expected as Record<string, unknown>;
  const wrong: string[] = [];
  for (const key of Object.keys(got)) {
    const stated = wanted[key] ?? null;
    const equal = ZERO_IS_MISSING.has(key) ? (got[key] || 0) === (stated || 0) : got[key] === stated;
    const asserted = key === 'input' || key === 'output' || ZERO_IS_MISSING.has(key) || stated !== null;
    if (asserted && !equal) wrong.push(`usage.${key}: ${got[key]}, not ${stated}`);
  }
  return wrong;
}

function reasoningOf(record: ParsedResponse): string {
  return record.content.map((part) => (part.type === 'reasoning' ? part.text : '')).join('');
}

function factsOf(record: ParsedResponse, expected: Record<string, unknown>): Record<string, unknown> {
  const reasoning = record.content.filter((part) => part.type === 'reasoning');
  return {
    text: record.text,
    reasoning: reasoningOf(record),
    toolCalls: callsLike(expected.toolCalls, record, 'client'),
    serverToolCalls: callsLike(expected.serverToolCalls, record, 'server'),
    otherItems: otherItems(record),
    stopReason: record.stopReason,
    status: record.status,
    id: record.id,
    model: record.model,
    choices: record.choices?.length ?? 1,
    candidates: record.choices?.length ?? 1,
    redacted: reasoning.filter((part) => part.redacted).length,
    citations: record.citations.length,
    annotations: record.citations.length,
    grounding: record.grounding !== undefined,
    latencyMs: record.latencyMs,
    outputTranscription: record.live?.outputTranscription,
    inputTranscription: record.live?.inputTranscription,
    turns: record.live?.turns,
    interrupted: record.live?.interrupted,
    audioParts: record.content.filter((part) => part.type === 'media').length,
  };
}

/** The differences between a record and the expected facts. */
function compare(row: Row, record: ParsedResponse): string[] {
  const { expected } = row;
  if (row.truth === 'malformed') {
    return record.error !== null || record.warnings.length > 0 ? [] : ['neither an error nor a warning'];
  }
  if (expected.error !== undefined) {
    const error = expected.error as Record<string, unknown>;
    const got = (record.error ?? {}) as unknown as Record<string, unknown>;
    return Object.keys(error)
      .filter((key) => got[key] !== error[key])
      .map((key) => `error.${key}: ${got[key]}, not ${error[key]}`);
  }
  const skip = new Set(row.skip);
  const wrong = record.error === null || skip.has('error') ? [] : [`error: ${record.error.message}`];
  if (!skip.has('usage')) wrong.push(...compareUsage(expected.usage, record));
  const facts = factsOf(record, expected);
  for (const [key, value] of Object.entries(expected)) {
    if (!(key in facts) || skip.has(key)) continue;
    const wanted = key === 'reasoning' ? (value as string[]).join('') : value;
    const also = (expected[`${key}Also`] as unknown[] | undefined) ?? [];
    if (isDeepStrictEqual(facts[key], wanted) || also.includes(facts[key])) continue;
    wrong.push(
      `${key}: ${JSON.stringify(facts[key])?.slice(0, 300)}, not ${JSON.stringify(wanted).slice(0, 300)}`,
    );
  }
  return wrong;
}

function filesUnder(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.(json|chunks\.txt)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

function main(args: string[]): number {
  const dir = args.find((arg) => !arg.startsWith('-'));
  if (dir === undefined) {
    console.error('usage: npm run corpus -- DIR   (a folder with expected.jsonl)');
    return 2;
  }
  let rows: Row[];
  try {
    const text = readFileSync(join(dir, 'expected.jsonl'), 'utf8');
    rows = text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  } catch (cause) {
    console.error(
      `cannot read ${join(dir, 'expected.jsonl')}: ${cause instanceof Error ? cause.message : cause}`,
    );
    return 2;
  }
  const table = new Map<string, { right: number; contested: number; rows: number }>();
  const failures: string[] = [];
  const contested: string[] = [];
  for (const row of rows) {
    const key = [row.provider, row.api, row.family, row.streaming ? 'stream' : 'whole']
      .filter(Boolean)
      .join(' · ');
    const line = table.get(key) ?? { right: 0, contested: 0, rows: 0 };
    table.set(key, line);
    line.rows++;
    const options = {
      provider: row.provider,
      status: row.status,
      ...(row.headers ? { headers: row.headers } : {}),
    };
    const hinted = compare(row, parse(readResponse(join(dir, row.file)), options));
    const found = compare(row, parse(readResponse(join(dir, row.file)), { status: row.status }));
    const wrong = [
      ...hinted,
      ...found.filter((fact) => !hinted.includes(fact)).map((fact) => `without a hint: ${fact}`),
    ];
    const known = WRONG_EXPECTATIONS[row.file];
    if (wrong.length === 0) line.right++;
    else if (known !== undefined && wrong.every((fact) => fact.startsWith(`${known.fact}:`))) {
      line.contested++;
      contested.push(`${row.file}: ${known.fact}: ${known.proof}`);
    } else failures.push(`${row.file}\n${wrong.map((fact) => `    ${fact}`).join('\n')}`);
  }
  const listed = new Set(rows.map((row) => row.file));
  const strangers = filesUnder(dir).filter((path) => !listed.has(relative(dir, path)));
  const claimed = strangers.filter((path) => parse(readResponse(path)).error === null);
  for (const path of claimed) failures.push(`${relative(dir, path)}\n    claimed as a model response`);

  for (const failure of failures) console.log(failure);
  const width = Math.max(...[...table.keys()].map((key) => key.length), 5);
  for (const [key, line] of [...table].sort()) {
    const note =
      line.right + line.contested < line.rows ? '   <--' : line.contested > 0 ? '   (see below)' : '';
    console.log(`${key.padEnd(width)}  ${String(line.right).padStart(5)} / ${line.rows}${note}`);
  }
  const right = [...table.values()].reduce((sum, line) => sum + line.right, 0);
  console.log(`${'total'.padEnd(width)}  ${String(right).padStart(5)} / ${rows.length}`);
  for (const line of contested) console.log(`wrong expectation: ${line}`);
  console.log(
    `not model responses: ${strangers.length - claimed.length} / ${strangers.length} recognised as such`,
  );
  return failures.length === 0 ? 0 : 1;
}

process.exitCode = main(process.argv.slice(2));
