export { agentToolNames } from './agent-tools.ts';
export { guardPluginCallbacks, hasAfterToolCallbacks } from './callbacks.ts';
export { toContent } from './content.ts';
export {
  answerDeferred,
  findTool,
  type Outcome,
  responseEvent,
  runDeferred,
  toResponse,
} from './deferred.ts';
export { chooseDriver, type Driver } from './driver.ts';
export type { Speaker } from './fast-path.ts';
export { type FileSource, fileReference } from './files.ts';
export { instrument } from './gate.ts';
export { GatePlugin, type RunView } from './gate-plugin.ts';
export { afterOlderRewind, danglingCalls, RESUME, rewindEvent } from './history.ts';
export { MessageChunks, type MessageOutput } from './message-chunks.ts';
export { checkCopy } from './own-copy.ts';
export { resumptionOf } from './resumption.ts';
export type { ApprovalOverride, DeferredCall } from './run.ts';
export { ServerTools } from './server-tools.ts';
export { knownTools, nearest, unknownTool } from './tool-names.ts';
export { waitsInAgentTools, waitsInWorkflows } from './workflow.ts';
