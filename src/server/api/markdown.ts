import { type Message, type MessagePart, toolNameOf } from '../../protocol/index.ts';
import type { SessionSummary } from '../store/store.ts';

/** The fields of a message part that shows a tool call. */
interface CallPart {
  state?: unknown;
  input?: unknown;
  output?: unknown;
  errorText?: unknown;
  approval?: { approved?: unknown; reason?: unknown };
}

/** Writes a conversation as Markdown: a heading for each message, with its text, files and tool calls. The text of messages is copied without escaping. */
export function toMarkdown(summary: SessionSummary, messages: readonly Message[]): string {
  const title = summary.title ?? summary.id;
  const facts = `Session \`${summary.id}\`, created ${timeOf(summary.createdAt)}, last used ${timeOf(summary.updatedAt)}.`;
  return `${[`# ${oneLine(title)}`, facts, ...messages.map(messageText)].join('\n\n')}\n`;
}

function messageText({ role, metadata, parts }: Message): string {
  const who = role === 'user' ? 'User' : 'Agent';
  const at = metadata?.createdAt === undefined ? '' : ` (${timeOf(metadata.createdAt)})`;
  const end = metadata?.failed ? ['*The answer failed.*'] : metadata?.interrupted ? ['*Interrupted.*'] : [];
  return [`## ${who}${at}`, ...parts.flatMap(partText), ...end].join('\n\n');
}

function partText(part: MessagePart): string[] {
  if (part.type === 'text') return part.text === '' ? [] : [part.text];
  if (part.type === 'file') return [`[File: ${oneLine(part.filename ?? part.mediaType)}]`];
  const toolName = toolNameOf(part);
  return toolName === null ? [] : [callText(toolName, part as CallPart)];
}

function callText(toolName: string, { state, input, output, errorText, approval }: CallPart): string {
  const decision =
    approval?.approved === undefined
      ? []
      : [`${approval.approved === true ? 'Approved' : 'Denied'}${reasonText(approval.reason)}.`];
  const outcome =
    state === 'output-available'
      ? ['Output:', block(output)]
      : typeof errorText === 'string'
        ? [`Error: ${oneLine(errorText)}`]
        : [`State: ${String(state)}`];
  return [`**Tool \`${toolName}\`**`, block(input), ...decision, ...outcome].join('\n\n');
}

function reasonText(reason: unknown): string {
  return typeof reason === 'string' && reason !== '' ? `: ${oneLine(reason)}` : '';
}

/** Writes a value as a fenced block of JSON. The fence is longer than any run of backticks in the value, so that the value cannot end the block. */
function block(value: unknown): string {
  const json = JSON.stringify(value, null, 2) ?? 'null';
  const longest = Math.max(2, ...[...json.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}json\n${json}\n${fence}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
