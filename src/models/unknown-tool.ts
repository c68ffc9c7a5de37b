import { BaseTool, type LlmRequest } from '@google/adk';
import type { FunctionCall } from '@google/genai';

/** Stands for a tool that a model made up: calling it tells the model that there is none. */
class UnknownTool extends BaseTool {
  constructor(name: string) {
    super({ name, description: '' });
  }

  override runAsync(): Promise<unknown> {
    return Promise.reject(new Error(`There is no tool named "${this.name}".`));
  }
}

/**
 * Makes every call one that ADK can answer. ADK ends a live run and loops in the other mode when a model calls a tool that
 * does not exist; with a stand-in the model reads an error and goes on.
 */
export function admitUnknownTools(toolsDict: LlmRequest['toolsDict'], calls: Iterable<FunctionCall>): void {
  for (const call of calls) {
    call.name ||= 'unnamed_tool';
    if (Object.hasOwn(toolsDict, call.name)) continue;
    // Not an assignment: a model may come up with `__proto__`.
    Object.defineProperty(toolsDict, call.name, {
      value: new UnknownTool(call.name),
      enumerable: false,
      configurable: true,
      writable: true,
    });
  }
}
