import type { Finish } from '../parse/reading.ts';

/** The AI SDK's finish reasons (v6; v7 adds more). */
type AiSdkFinish = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other';

/** The AI SDK's word for a finish. */
export function aiSdkFinishOf(finish: Finish | null): AiSdkFinish {
  if (finish === 'refusal' || finish === 'content_filter') return 'content-filter';
  if (finish === 'tool_calls') return 'tool-calls';
  if (finish === 'pause') return 'stop';
  return finish === null || finish === 'incomplete' ? 'other' : finish;
}
