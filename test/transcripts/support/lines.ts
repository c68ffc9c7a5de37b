import { chunkIn } from '../../../scripts/fixtures/conversation.ts';

type Shown = Record<string, unknown>;

/**
 * Shows the blocks of a conversation as lines, one for each chunk; a block of text or reasoning is one line. Messages and
 * calls have numbers instead of ids, and what differs from run to run, where it looks as it should, is `…`.
 */
export class Lines {
  private readonly messages: unknown[] = [];
  private readonly calls: string[] = [];

  of(blocks: readonly string[]): string[] {
    const lines: string[] = [];
    let open: { kind: string; id: unknown; text: string } | null = null;
    for (const block of blocks) {
      const chunk = chunkIn(block);
      const [, kind = '', piece = ''] =
        /^(text|reasoning)-(start|delta|end)$/.exec(String(chunk?.type)) ?? [];
      if (chunk && piece === 'start' && open === null) open = { kind, id: chunk.id, text: '' };
      else if (chunk && open && open.kind === kind && open.id === chunk.id) {
        if (piece === 'delta') open.text += String(chunk.delta);
        else {
          lines.push(kind === 'text' ? `text ${open.text}` : kind);
          open = null;
        }
      } else lines.push(chunk ? this.line(chunk) : block.trim().replace(/^data: /, ''));
    }
    if (open) lines.push(`${open.kind} without an end`);
    return lines;
  }

  private line(chunk: Shown): string {
    const { type, ...fields } = chunk;
    switch (type) {
      case 'start':
        return `start ${this.numberOf(this.messages, fields.messageId)}`;
      case 'tool-input-start':
        return `${this.call(chunk)} ${fields.toolName} ${kindOf(fields.toolMetadata as Shown)}`;
      case 'tool-input-available':
        return `${this.call(chunk)} ${fields.toolName} ${this.json(fields.input)}`;
      case 'tool-approval-request':
        return this.call(chunk) + (fields.approvalDescriptor ? ' expires' : '');
      case 'tool-output-available':
        return `${this.call(chunk)} ${this.json(fields.output)}`;
      case 'tool-output-error':
        return `${this.call(chunk)} ${fields.errorText}`;
      case 'finish':
        return `finish ${fields.finishReason}`;
      default:
        return [type, ...(Object.keys(fields).length === 0 ? [] : [this.json(fields)])].join(' ');
    }
  }

  private call({ type, toolCallId }: Shown): string {
    return `${type} ${this.numberOf(this.calls, toolCallId)}`;
  }

  private numberOf(known: unknown[], id: unknown): number {
    if (!known.includes(id)) known.push(id);
    return known.indexOf(id) + 1;
  }

  private json(value: unknown): string {
    return JSON.stringify(value)
      .replace(
        /"(?:adk|function-call)-[0-9a-f-]+"/g,
        (id) => `"call ${this.numberOf(this.calls, JSON.parse(id))}"`,
      )
      .replace(/"txn_[0-9a-f]{12}"/g, '"…"')
      .replace(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/g, '"…"');
  }
}

function kindOf({ runsOn, asks }: Shown): string {
  return `${runsOn}${asks ? ', asks' : ''}`;
}
