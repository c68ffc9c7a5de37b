/**
 * The agent: tools and the gate before them, histories that models accept, and ADK's events as chunks. What the server needs beyond this entry is in
 * `for-server.ts`. State belongs to one run (`RunView`) or to one message of it (`MessageChunks`), or lasts as long as one call (`callbacks.ts`, `run.ts`, by
 * weak reference). The gate keeps none, because the server stores a call that waits.
 */

export type { ApprovalRule, ApprovalStatus } from './approval-status.ts';
export { MessageChunks, type MessageOutput } from './message-chunks.ts';
export type { CallDecider, DataOptions, ToolContext, ToolRequest } from './tool-context.ts';
export { type ClientTool, type DecidedCall, DuologueTool, defineTool, type ServerTool } from './tools.ts';
