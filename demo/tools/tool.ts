import type { BaseTool } from '@google/adk';
import type { Rule } from 'duologue/models/embedded';

/** What a tool may need of the place where it runs. */
export interface ToolSurroundings {
  env: Readonly<Record<string, string | undefined>>;
  /** A folder for what it keeps. */
  dataDir: string;
}

/** The server's side of a tool: what `server.ts` in its folder exports by default. */
export interface DemoTool {
  /** For the model: the name of the tool, a colon, when and how to call it. */
  instruction: string;
  define(surroundings: ToolSurroundings): BaseTool;
  /** How the embedded model understands requests for it, and speaks of what came of them. */
  rules: readonly Rule[];
  /** English words that people say when they want it: where speech recognition is unsure, it prefers them. */
  words?: readonly string[];
}
