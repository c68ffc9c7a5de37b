import { CONFIRMATION_TOOL } from 'duologue/protocol';
import { pageTool } from './page-tools.tsx';
import { ToolOutput } from './tool-details.tsx';
import { fields, type ToolPart, toolName } from './tool-part.ts';

/** Shows the output of a call, with the component of its tool. Without one it is shown unchanged, if it is not shown elsewhere on the card (`isBrief`). */
export function ToolResult({
  part,
  isBrief = false,
  className = '',
}: {
  part: ToolPart;
  /** Whether the arguments of the call are shown above already. */
  isBrief?: boolean;
  className?: string;
}) {
  const name = toolName(part);
  const Result = pageTool(name)?.Result;
  if (Result) return <Result output={fields(part.output)} isBrief={isBrief} className={className} />;
  // The output of a confirmation is the decision, which the title of the card says.
  return isBrief && name !== CONFIRMATION_TOOL ? <ToolOutput part={part} /> : null;
}
