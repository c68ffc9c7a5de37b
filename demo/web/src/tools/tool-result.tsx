import { pageTool } from './page-tools.tsx';
import { fields, type ToolPart, toolName } from './tool-part.ts';

/** The output of a call in plain words; nothing where the answer of the assistant says enough. */
export function ToolResult({
  part,
  isBrief = false,
  className = '',
}: {
  part: ToolPart;
  /** Whether what was asked for stands above already. */
  isBrief?: boolean;
  className?: string;
}) {
  const Result = pageTool(toolName(part))?.Result;
  return Result ? <Result output={fields(part.output)} isBrief={isBrief} className={className} /> : null;
}
