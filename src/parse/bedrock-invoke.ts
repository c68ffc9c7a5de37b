import type { ApiReader } from './api.ts';
import { readChoices } from './choices.ts';
import { itemFold } from './item-fold.ts';
import { at, list, type Obj, obj, str, strOrNull } from './json.ts';
import { addCitation, addFunction, addStopDetail, addText } from './output.ts';
import type { Output } from './record.ts';
import { readUsage } from './usage.ts';

/** Where one model family keeps things; a chunk of its stream has the fields of an output, or of a whole body. */
interface Family {
  recognise(value: Obj): unknown;
  /** The list of outputs in a body; without one the value itself is the output. */
  outputs?: string;
  text: string;
  stop: string;
  input?: string;
  output?: string;
}

const FAMILIES: Readonly<Record<string, Family>> = {
  llama: {
    recognise: (v) => typeof v.generation === 'string',
    text: 'generation',
    stop: 'stop_reason',
    input: 'prompt_token_count',
    output: 'generation_token_count',
  },
  titan: {
    recognise: (v) => v.inputTextTokenCount !== undefined && !v.embedding,
    outputs: 'results',
    text: 'outputText',
    stop: 'completionReason',
    input: 'inputTextTokenCount',
    output: 'totalOutputTextTokenCount',
  },
  mistral: {
    recognise: (v) => at(v, 'outputs.0.text') !== undefined,
    outputs: 'outputs',
    text: 'text',
    stop: 'stop_reason',
  },
  cohere: {
    recognise: (v) => v.generations ?? (v.is_finished !== undefined && !v.event_type),
    outputs: 'generations',
    text: 'text',
    stop: 'finish_reason',
  },
  'command-r': {
    recognise: (v) =>
      v.is_finished !== undefined || (typeof v.text === 'string' && (v.finish_reason ?? v.generation_id)),
    text: 'text',
    stop: 'finish_reason',
    input: 'meta.billed_units.input_tokens',
    output: 'meta.billed_units.output_tokens',
  },
  ai21: {
    recognise: (v) => v.completions,
    outputs: 'completions',
    text: 'data.text',
    stop: 'finishReason.reason',
  },
  'claude-v2': {
    recognise: (v) => typeof v.completion === 'string',
    text: 'completion',
    stop: 'stop_reason',
  },
};

function readerOf(name: string): ApiReader {
  const family = FAMILIES[name] as Family;
  const readChunks = (chunks: Obj, out: Output): void => {
    let text = '';
    for (const chunk of Object.values(chunks).map(obj)) {
      text += str(at(chunk, family.text));
      out.stopReason = strOrNull(at(chunk, family.stop)) ?? out.stopReason;
      addStopDetail(out, chunk.stop);
      for (const call of list(chunk.tool_calls).map(obj))
        addFunction(out, call.id, call.name, call.parameters);
      for (const citation of list(chunk.citations).map(obj)) addCitation(out, null, citation, citation);
    }
    if (text) addText(out, text);
  };
  return {
    api: `bedrock.invoke.${name}`,
    recognise: (value) => (family.recognise(value) ? 'either' : null),
    /** A whole body is a stream of one chunk. */
    read(body, record) {
      const usage = { inputTokens: null as unknown, outputTokens: null as unknown };
      const outputs: unknown[][] = [];
      for (const chunk of list(body.chunks ?? [body]).map(obj)) {
        record.id ??= strOrNull(chunk.id ?? chunk.generation_id);
        usage.inputTokens = at(chunk, family.input) ?? usage.inputTokens;
        usage.outputTokens =
          at(chunk, family.output) ?? at(chunk, 'results.0.tokenCount') ?? usage.outputTokens;
        for (const [i, output] of list(at(chunk, family.outputs) ?? [chunk]).entries()) {
          outputs[i] ??= [];
          outputs[i].push(output);
        }
      }
      readChoices(
        outputs.map((chunks) => ({ ...chunks })),
        record,
        readChunks,
      );
      record.usage = readUsage('converse', usage, record.warnings);
    },
    fold: itemFold({
      stepOf(event) {
        const done =
          at(event, family.stop) ??
          event['amazon-bedrock-invocationMetrics'] ??
          event['amazon-bedrock-guardrailAction'];
        return family.recognise(event) ? { at: 0, piece: { chunks: [event] }, done } : null;
      },
      close: (_, [gathered]) => gathered ?? {},
    }),
  };
}

/** Bedrock InvokeModel families that have a shape of their own. */
export const bedrockInvoke: readonly ApiReader[] = Object.keys(FAMILIES).map(readerOf);
