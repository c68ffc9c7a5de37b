import type { ReactNode } from 'react';
import { useMessages } from '../i18n/language.tsx';
import type { ToolPart } from '../tools/tool-part.ts';
import { reveal } from './reveal.ts';

/**
 * Names the agents on the way to a call, so that the user knows who asks. Shows nothing for a call of the conversation's own agent: only a call inside an
 * agent that is used as a tool has these names.
 */
export function AskedBy({ part }: { part: ToolPart }): ReactNode {
  const { approval } = useMessages();
  const agents = part.toolMetadata?.agents;
  if (agents === undefined) return null;
  return (
    <p className="text-sm break-words text-soft" data-testid="asked-by">
      {approval.askedBy(agents.map(reveal).join(' › '))}
    </p>
  );
}
