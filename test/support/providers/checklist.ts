import { chunkIn } from '../../../scripts/fixtures/conversation.ts';

/** The violations in the blocks of a socket conversation, by the rules that every client relies on. */
export function bidiFaults(blocks: readonly string[]): string[] {
  const faults: string[] = [];
  const ends = blocks.filter((block) => block === 'data: [DONE]\n\n').length;
  if (ends !== 1) faults.push(`${ends} ends`);
  const seen = new Map<unknown, string[]>();
  let inStep = false;
  let shown: unknown = null;
  for (const chunk of blocks.map(chunkIn)) {
    if (!chunk) continue;
    const { type, toolCallId } = chunk as { type: string; toolCallId?: string };
    if (type === 'start-step') inStep = true;
    if (type === 'finish-step') inStep = false;
    if (toolCallId === undefined) continue;
    const steps = seen.get(toolCallId) ?? [];
    seen.set(toolCallId, [...steps, type]);
    if (type === 'tool-approval-request') {
      if (!inStep) faults.push(`${toolCallId}: the request stands in no step`);
      if (shown !== null) faults.push(`${toolCallId}: asked before ${shown} was settled`);
      shown = toolCallId;
    }
    if (type.startsWith('tool-output-') && shown === toolCallId) shown = null;
  }
  for (const [id, steps] of seen) {
    const order = steps.join(' ');
    if (
      !/^tool-input-start tool-input-available( tool-approval-request)? tool-output-(available|error)$/.test(
        order,
      )
    ) {
      faults.push(`${id}: ${order}`);
    }
  }
  return faults;
}
