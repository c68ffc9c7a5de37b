import { BaseTool } from '@google/adk';
import type { FunctionDeclaration } from '@google/genai';

/** A tool whose every call is answered later, from outside. */
export class DeferredTool extends BaseTool {
  /** Gemini's live models go on talking past a call of this tool. */
  readonly nonBlocking: boolean;

  constructor(name: string, options: { nonBlocking?: boolean } = {}) {
    super({ name, description: name, isLongRunning: true });
    this.nonBlocking = options.nonBlocking ?? false;
  }

  override _getDeclaration(): FunctionDeclaration {
    return { name: this.name, description: this.description };
  }

  override async runAsync(): Promise<unknown> {
    return undefined;
  }
}
