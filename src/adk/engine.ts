export { agentToolNames } from './agent-tools.ts';
export { toContent } from './content.ts';
export { findTool, type Outcome, responseEvent, runDeferred, toResponse } from './deferred.ts';
export { instrument, isAllLlm } from './gate.ts';
export { GatePlugin, type RunView } from './gate-plugin.ts';
export { danglingCalls, RESUME, rewindEvent } from './history.ts';
export type { ApprovalOverride, DeferredCall } from './run.ts';
export { ServerTools } from './server-tools.ts';
export { Turn, type TurnOutput } from './turn.ts';
