/**
 * The agent: tools and the gate before them, histories that models accept, and ADK's events as chunks. The exports that only the server needs are in
 * `for-server.ts`. State belongs to the plugin of a server (`GatePlugin` has the active run of each session), to one session (the tool lock of
 * `ServerTools`), to one run (`ActiveRun`), to one message of a run (`MessageChunks`), or to one call (weak maps in `callbacks.ts` and `agent-tools.ts`).
 * The gate keeps no state, because the server stores a call that waits.
 */

export type { ApprovalRule, ApprovalStatus } from './approval-status.ts';
export { MessageChunks, type MessageOutput } from './message-chunks.ts';
export type { CallDecider, DataOptions, ToolContext, ToolRequest } from './tool-context.ts';
export { type ClientTool, type DecidedCall, DuologueTool, defineTool, type ServerTool } from './tools.ts';
