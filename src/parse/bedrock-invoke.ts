import type { ApiReader, Fold, Folded, Taken } from './api.ts';
import { readChoices } from './choices.ts';
import { isObject, list, type Obj, obj, str, strOrNull } from './json.ts';
import { addCitation, addFunction, addText } from './output.ts';
import type { Output } from './record.ts';
import { pairUsage } from './usage.ts';

/** Where one model family keeps things in a whole body and in a chunk of its stream. */
interface Family {
  name: string;
  recognise(value: Obj): boolean;
  /** The list of outputs in a body; the value itself is the output when there is none. */
  outputs?: string;
  text(output: Obj): unknown;
  stop(output: Obj): unknown;
  tokens?(value: Obj): readonly [input: unknown, output: unknown];
}

const FAMILIES: readonly Family[] = [
  {
    name: 'llama',
    recognise: (v) => typeof v.generation === 'string',
    text: (v) => v.generation,
    stop: (v) => v.stop_reason,
    tokens: (v) => [v.prompt_token_count, v.generation_token_count],
  },
  {
    name: 'titan',
    recognise: (v) =>
      typeof v.outputText === 'string' ||
      (v.inputTextTokenCount !== undefined &&
        (Array.isArray(v.results) || v.totalOutputTextTokenCount !== undefined)),
    outputs: 'results',
    text: (v) => v.outputText,
    stop: (v) => v.completionReason,
    tokens: (v) => [v.inputTextTokenCount, v.totalOutputTextTokenCount ?? obj(list(v.results)[0]).tokenCount],
  },
  {
    name: 'mistral',
    recognise: (v) => Array.isArray(v.outputs) && typeof obj(v.outputs[0]).text === 'string',
    outputs: 'outputs',
    text: (v) => v.text,
    stop: (v) => v.stop_reason,
  },
  {
    name: 'cohere',
    recognise: (v) =>
      Array.isArray(v.generations) || (v.is_finished !== undefined && v.event_type === undefined),
    outputs: 'generations',
    text: (v) => v.text,
    stop: (v) => v.finish_reason,
  },
  {
    name: 'command-r',
    recognise: (v) =>
      (typeof v.text === 'string' && (v.finish_reason !== undefined || v.generation_id !== undefined)) ||
      (typeof v.event_type === 'string' && v.is_finished !== undefined),
    text: (v) => v.text,
    stop: (v) => v.finish_reason,
    tokens: (v) => {
      const meta = obj(v.meta ?? obj(v.response).meta);
      const units = obj(meta.tokens ?? meta.billed_units);
      return [units.input_tokens, units.output_tokens];
    },
  },
  {
    name: 'ai21',
    recognise: (v) => Array.isArray(v.completions),
    outputs: 'completions',
    text: (v) => obj(v.data).text,
    stop: (v) => (isObject(v.finishReason) ? v.finishReason.reason : v.finishReason),
  },
  {
    name: 'claude-v2',
    recognise: (v) => typeof v.completion === 'string',
    text: (v) => v.completion,
    stop: (v) => v.stop_reason,
  },
];

interface OutputPiece {
  text: string;
  stop: string | null;
  sequence: unknown;
  calls: unknown[];
  citations: unknown[];
}

/** Chunks and whole bodies alike are read into this, so that a stream equals the whole by construction. */
class Pieces {
  readonly [key: string]: unknown;
  readonly outputs: OutputPiece[] = [];
  id: string | null = null;
  input: unknown = null;
  output: unknown = null;
  stopped = false;

  constructor(private readonly family: Family) {}

  push(value: Obj): void {
    const { family } = this;
    this.id ??= strOrNull(value.id ?? value.generation_id ?? value.response_id);
    const [input, output] = family.tokens?.(value) ?? [];
    this.input = input ?? this.input;
    this.output = output ?? this.output;
    const listed = family.outputs === undefined ? undefined : value[family.outputs];
    for (const [i, entry] of (Array.isArray(listed) ? listed : [value]).entries())
      this.pushOutput(obj(entry), i);
  }

  private pushOutput(raw: Obj, index: number): void {
    this.outputs[index] ??= { text: '', stop: null, sequence: undefined, calls: [], citations: [] };
    const piece = this.outputs[index];
    piece.text += str(this.family.text(raw));
    piece.stop = strOrNull(this.family.stop(raw)) ?? piece.stop;
    piece.sequence ??= raw.stop ?? undefined;
    for (const call of list(raw.tool_calls)) piece.calls.push(call);
    for (const citation of list(raw.citations)) piece.citations.push(citation);
    if (
      piece.stop !== null ||
      raw['amazon-bedrock-invocationMetrics'] ||
      raw['amazon-bedrock-guardrailAction']
    ) {
      this.stopped = true;
    }
  }
}

function readPiece(piece: Obj, out: Output): void {
  if (piece.text !== '') addText(out, str(piece.text));
  out.stopReason = strOrNull(piece.stop);
  if (typeof piece.sequence === 'string') out.stopDetail = { sequence: piece.sequence };
  for (const entry of list(piece.calls)) {
    const call = obj(entry);
    addFunction(out, call.id, call.name, call.parameters);
  }
  for (const entry of list(piece.citations)) addCitation(out, null, obj(entry), obj(entry), obj(entry).text);
}

class FamilyFold implements Fold {
  private readonly pieces: Pieces;

  constructor(private readonly family: Family) {
    this.pieces = new Pieces(family);
  }

  push(event: Obj): Taken {
    if (this.pieces.stopped && this.family.recognise(event)) return 'restart';
    if (!this.family.recognise(event)) return 'foreign';
    this.pieces.push(event);
    return 'taken';
  }

  end(): Folded {
    return { body: this.pieces, complete: this.pieces.stopped };
  }
}

function readerOf(family: Family): ApiReader {
  return {
    api: `bedrock.invoke.${family.name}`,
    provider: 'bedrock',
    recognise: (value) => (family.recognise(value) ? 'either' : null),
    read(body, record) {
      let pieces = body;
      if (!(body instanceof Pieces)) {
        pieces = new Pieces(family);
        (pieces as Pieces).push(body);
      }
      record.id = strOrNull(pieces.id);
      readChoices(list(pieces.outputs), record, readPiece);
      record.usage = pairUsage(pieces.input, pieces.output, record.warnings);
    },
    fold: () => new FamilyFold(family),
  };
}

/** Bedrock InvokeModel families that have a shape of their own. */
export const bedrockInvoke: readonly ApiReader[] = FAMILIES.map(readerOf);
