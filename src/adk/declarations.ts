import { FunctionTool } from '@google/adk';

/**
 * Makes a tool remember its declaration. ADK converts the schema of the arguments anew for every model call, though it
 * never changes; what is handed out is fresh each time, since callbacks may change a request. A tool with a declaration of its own
 * making is left alone.
 */
export function rememberDeclaration(tool: unknown): void {
  const isStock =
    tool instanceof FunctionTool && tool._getDeclaration === FunctionTool.prototype._getDeclaration;
  if (!isStock) return;
  const make = tool._getDeclaration.bind(tool);
  let text: string | undefined;
  tool._getDeclaration = () => {
    text ??= JSON.stringify(make());
    return JSON.parse(text);
  };
}
