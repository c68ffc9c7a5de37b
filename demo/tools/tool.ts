import type { BaseTool } from '@google/adk';
import type { Rule } from 'duologue/models/embedded';

/** The environment variables and the folder that the server passes to the definition of each tool. */
export interface ToolSurroundings {
  env: Readonly<Record<string, string | undefined>>;
  /** The data folder of the server, where a tool may store files. */
  dataDir: string;
}

/** The server part of a tool: the default export of `server.ts` in its folder. */
export interface DemoTool {
  /** A line for the instruction of the agent: the name of the tool, a colon, and when and how to call it. */
  instruction: string;
  define(surroundings: ToolSurroundings): BaseTool;
  /** The rules by which the embedded model understands requests for the tool, and reports its outcomes. */
  rules: readonly Rule[];
  /** English words that people say when they want the tool. Of several transcripts, the one with most such words is chosen. */
  words?: readonly string[];
}
