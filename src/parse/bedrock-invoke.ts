import type { ApiReader } from './api.ts';
import { itemFold } from './item-fold.ts';
import { at, list, type Obj, objects } from './json.ts';
import { closeChat, readChat, stepOfChat } from './openai-chat.ts';
import { noteBedrock } from './settle.ts';

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

/** A body or chunk in the words of OpenAI chat. */
function translate(family: Family, value: Obj): Obj {
  const choices = list(at(value, family.outputs) ?? [value]).map((output, index) => ({
    index,
    finish_reason: at(output, family.stop),
    stop_sequence: at(output, 'stop'),
    message: {
      content: at(output, family.text),
      annotations: at(output, 'citations'),
      tool_calls: objects(at(output, 'tool_calls')).map((call) => ({
        function: { name: call.name, arguments: call.parameters },
      })),
    },
  }));
  const usage = {
    prompt_tokens: at(value, family.input),
    completion_tokens: at(value, family.output) ?? at(value, 'results.0.tokenCount'),
  };
  return { id: value.id ?? value.generation_id, choices, usage };
}

function readerOf(name: string): ApiReader {
  const family = FAMILIES[name] as Family;
  return {
    api: `bedrock.invoke.${name}`,
    recognise: (value) => (family.recognise(value) ? 'either' : null),
    read: (body, record) => readChat(body.folded ? body : translate(family, body), record),
    fold: itemFold({
      stepOf(event) {
        const step = family.recognise(event) ? stepOfChat(translate(family, event)) : null;
        if (step) step.done ||= noteBedrock(event, {});
        return step;
      },
      close: (body, items) => ({ ...closeChat(body, items), folded: true }),
    }),
  };
}

/** Bedrock InvokeModel families that have a shape of their own. */
export const bedrockInvoke: readonly ApiReader[] = Object.keys(FAMILIES).map(readerOf);
