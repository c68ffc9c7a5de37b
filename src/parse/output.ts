import { str, strOrNull, tryJson } from './json.ts';
import type { Output, Part, ToolUse } from './reading.ts';

type TextPart = Extract<Part, { type: 'text' }>;
type ReasoningPart = Extract<Part, { type: 'reasoning' }>;

/** Adds a text part, and appends its text to `out.text`. */
export function addText(out: Output, text: string): TextPart {
  const part: TextPart = { type: 'text', text };
  out.content.push(part);
  out.text += text;
  return part;
}

/** Adds a reasoning part, and appends its text to `out.thinking`. A part with an empty text is added too, because it may have a signature. */
export function addReasoning(out: Output, text: string, signature?: unknown): ReasoningPart {
  const part: ReasoningPart = { type: 'reasoning', text };
  if (signature) part.signature = str(signature);
  out.content.push(part);
  if (text) out.thinking = (out.thinking ? `${out.thinking}\n\n` : '') + text;
  return part;
}

/** Adds a reasoning part that the provider sent only in encrypted form. */
export function addRedacted(out: Output, raw: unknown): void {
  out.content.push({ type: 'reasoning', text: '', redacted: true, raw });
}

/** Adds a refusal part, and appends its text to `out.refusal`. */
export function addRefusal(out: Output, text: string): void {
  out.content.push({ type: 'refusal', text });
  out.refusal = (out.refusal ?? '') + text;
}

/**
 * Adds a tool call. The arguments are an object or JSON text, for a custom tool any text. Without arguments the input is an empty
 * object, for a custom tool an empty text.
 */
export function addTool(
  out: Output,
  id: unknown,
  name: unknown,
  args: unknown,
  executor: ToolUse['executor'],
  kind: ToolUse['kind'],
): ToolUse {
  const known = strOrNull(id);
  const use: ToolUse = {
    type: 'tool_call',
    id: known ?? `call_${out.toolUses.length}`,
    idSynthesized: !known,
    name: str(name),
    input: args ?? (kind === 'custom' ? '' : {}),
    inputValid: true,
    executor,
    kind,
    status: executor === 'client' ? 'pending' : 'completed',
  };
  if (typeof args === 'string') {
    use.inputRaw = args;
    if (kind !== 'custom') {
      const input = tryJson(args.trim() || '{}');
      use.inputValid = input !== undefined;
      use.input = input ?? args;
    }
  }
  out.content.push(use);
  out.toolUses.push(use);
  return use;
}

/** How many earlier calls are searched for the call of a result. Without a limit, a response with thousands of results would take quadratic time. */
const LOOK_BACK = 256;

/** Adds a tool result, and sets the output and status of the call with that id; without an id, of the last call. */
export function addToolResult(
  out: Output,
  toolUseId: unknown,
  output: unknown,
  failed: boolean,
  raw: unknown,
): void {
  const id = strOrNull(toolUseId);
  out.content.push({ type: 'tool_result', toolUseId: id, output, failed, raw });
  const use = out.toolUses.slice(-LOOK_BACK).findLast((candidate) => !id || candidate.id === id);
  if (!use) return;
  use.output = output;
  use.status = failed ? 'failed' : 'completed';
}

/** Sets one detail of the stop reason. */
export function addStopDetail(
  out: Output,
  name: keyof NonNullable<Output['stopDetail']>,
  value: unknown,
): void {
  if (!value) return;
  out.stopDetail ??= {};
  out.stopDetail[name] = str(value);
}
