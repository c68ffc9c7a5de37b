import { pageTool } from './page-tools.tsx';
import { fields, type ToolPart, toolName } from './tool-part.ts';

/** Shows the output of a call, if its tool has a component for that. */
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
  const Result = pageTool(toolName(part))?.Result;
  return Result ? <Result output={fields(part.output)} isBrief={isBrief} className={className} /> : null;
}
