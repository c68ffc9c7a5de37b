import { str, strOrNull, tryJson } from './json.ts';
import type { Output, Part, ToolUse } from './reading.ts';

type TextPart = Extract<Part, { type: 'text' }>;
type ReasoningPart = Extract<Part, { type: 'reasoning' }>;

/** Adds visible text. */
export function addText(out: Output, text: string): TextPart {
  const part: TextPart = { type: 'text', text };
  out.content.push(part);
  out.text += text;
  return part;
}

/** Adds reasoning; an empty text still keeps its place and its signature. */
export function addReasoning(out: Output, text: string, signature?: unknown): ReasoningPart {
  const part: ReasoningPart = { type: 'reasoning', text };
  if (signature) part.signature = str(signature);
  out.content.push(part);
  if (text) out.thinking = (out.thinking ? `${out.thinking}\n\n` : '') + text;
  return part;
}

/** Adds reasoning that the provider shows only in encrypted form. */
export function addRedacted(out: Output, raw: unknown): void {
  out.content.push({ type: 'reasoning', text: '', redacted: true, raw });
}

/** Adds a refusal in words. */
export function addRefusal(out: Output, text: string): void {
  out.content.push({ type: 'refusal', text });
  out.refusal = (out.refusal ?? '') + text;
}

/** Adds a tool call; arguments may be an object, JSON text, or missing, which means none. */
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

// Results follow their calls; the bound keeps hostile input linear.
const LOOK_BACK = 256;

/** Adds the result of a tool and hands it to the call it belongs to. */
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

/** States what the provider says about its stop reason. */
export function addStopDetail(
  out: Output,
  name: keyof NonNullable<Output['stopDetail']>,
  value: unknown,
): void {
  if (!value) return;
  out.stopDetail ??= {};
  out.stopDetail[name] = str(value);
}
