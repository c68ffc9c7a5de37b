import { list, type Obj, obj } from './json.ts';

/** The family of a Bedrock InvokeModel body or chunk that has a shape of its own. */
export function familyOf(v: Obj): string | null {
  const { text, is_finished } = v;
  if (typeof v.generation === 'string') return 'llama';
  if ((v.outputText ?? v.inputTextTokenCount) !== undefined && !v.embedding) return 'titan';
  if (obj(list(v.outputs)[0]).text !== undefined) return 'mistral';
  if (v.generations ?? (is_finished !== undefined && !v.event_type)) return 'cohere';
  if (is_finished !== undefined || (typeof text === 'string' && (v.finish_reason ?? v.generation_id)))
    return 'command-r';
  if (v.completions) return 'ai21';
  return typeof v.completion === 'string' ? 'claude-v2' : null;
}
