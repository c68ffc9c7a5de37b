import type { ApiReader } from './api.ts';
import { readChoices } from './choices.ts';
import { at, list, type Obj, obj, str, strOrNull } from './json.ts';
import { addCitation, addFunction, addText } from './output.ts';
import type { Output } from './record.ts';
import { readUsage } from './usage.ts';

/** Where one model family keeps things; a chunk of its stream has the fields of an output, or of a whole body. */
interface Family {
  name: string;
  recognise(value: Obj): boolean;
  /** The list of outputs in a body; without one the value itself is the output. */
  outputs?: string;
  text: string;
  stop: string;
  input?: string;
  output?: string;
}

const FAMILIES: readonly Family[] = [
  {
    name: 'llama',
    recognise: (v) => typeof v.generation === 'string',
    text: 'generation',
    stop: 'stop_reason',
    input: 'prompt_token_count',
    output: 'generation_token_count',
  },
  {
    name: 'titan',
    recognise: (v) => v.outputText !== undefined || (v.inputTextTokenCount !== undefined && !v.embedding),
    outputs: 'results',
    text: 'outputText',
    stop: 'completionReason',
    input: 'inputTextTokenCount',
    output: 'totalOutputTextTokenCount',
  },
  {
    name: 'mistral',
    recognise: (v) => at(v, 'outputs.0.text') !== undefined,
    outputs: 'outputs',
    text: 'text',
    stop: 'stop_reason',
  },
  {
    name: 'cohere',
    recognise: (v) =>
      Array.isArray(v.generations) || (v.is_finished !== undefined && v.event_type === undefined),
    outputs: 'generations',
    text: 'text',
    stop: 'finish_reason',
  },
  {
    name: 'command-r',
    recognise: (v) =>
      v.is_finished !== undefined ||
      (typeof v.text === 'string' && (v.finish_reason ?? v.generation_id) !== undefined),
    text: 'text',
    stop: 'finish_reason',
    input: 'meta.billed_units.input_tokens',
    output: 'meta.billed_units.output_tokens',
  },
  {
    name: 'ai21',
    recognise: (v) => Array.isArray(v.completions),
    outputs: 'completions',
    text: 'data.text',
    stop: 'finishReason.reason',
  },
  {
    name: 'claude-v2',
    recognise: (v) => typeof v.completion === 'string',
    text: 'completion',
    stop: 'stop_reason',
  },
];

interface Piece extends Obj {
  text: string;
  stop: string | null;
  sequence: unknown;
  calls: unknown[];
  citations: unknown[];
}

/** A body or its chunks, gathered: a stream equals the whole by construction. */
class Pieces {
  readonly [key: string]: unknown;
  readonly outputs: Piece[] = [];
  id: string | null = null;
  input: unknown;
  output: unknown;
  stopped = false;
  readonly family: Family;

  constructor(family: Family) {
    this.family = family;
  }

  push(value: Obj): this {
    const { outputs, input, output } = this.family;
    this.id ??= strOrNull(value.id ?? value.generation_id);
    this.input = at(value, input) ?? this.input;
    this.output = at(value, output) ?? at(value, 'results.0.tokenCount') ?? this.output;
    const listed = at(value, outputs);
    for (const [i, entry] of (Array.isArray(listed) ? listed : [value]).entries())
      this.pushOutput(obj(entry), i);
    return this;
  }

  private pushOutput(raw: Obj, index: number): void {
    this.outputs[index] ??= { text: '', stop: null, sequence: null, calls: [], citations: [] };
    const piece = this.outputs[index];
    piece.text += str(at(raw, this.family.text));
    piece.stop = strOrNull(at(raw, this.family.stop)) ?? piece.stop;
    piece.sequence ??= raw.stop;
    piece.calls.push(...list(raw.tool_calls));
    piece.citations.push(...list(raw.citations));
    this.stopped ||= !!(
      piece.stop ??
      raw['amazon-bedrock-invocationMetrics'] ??
      raw['amazon-bedrock-guardrailAction']
    );
  }
}

function readPiece(raw: Obj, out: Output): void {
  const { text, stop, sequence, calls, citations } = raw as Piece;
  if (text !== '') addText(out, text);
  out.stopReason = stop;
  if (typeof sequence === 'string') out.stopDetail = { sequence };
  for (const call of calls.map(obj)) addFunction(out, call.id, call.name, call.parameters);
  for (const citation of citations.map(obj)) addCitation(out, null, citation, citation);
}

function readerOf(family: Family): ApiReader {
  return {
    api: `bedrock.invoke.${family.name}`,
    provider: 'bedrock',
    recognise: (value) => (family.recognise(value) ? 'either' : null),
    read(body, record) {
      const pieces = body instanceof Pieces ? body : new Pieces(family).push(body);
      record.id = pieces.id;
      readChoices(pieces.outputs, record, readPiece);
      record.usage = readUsage(
        'converse',
        { inputTokens: pieces.input, outputTokens: pieces.output },
        record.warnings,
      );
    },
    fold() {
      const pieces = new Pieces(family);
      return {
        push(event) {
          if (!family.recognise(event)) return 'foreign';
          if (pieces.stopped) return 'restart';
          pieces.push(event);
          return 'taken';
        },
        end: () => ({ body: pieces, complete: pieces.stopped }),
      };
    },
  };
}

/** Bedrock InvokeModel families that have a shape of their own. */
export const bedrockInvoke: readonly ApiReader[] = FAMILIES.map(readerOf);
