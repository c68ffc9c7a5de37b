export { innerPlugins } from './agent-tool-runs.ts';
export { pausableAgent } from './agent-tools.ts';
export {
  agentToolNames,
  checkAgentTool,
  checkCopy,
  checkNames,
  checkNodes,
  knownTools,
  pluginFault,
  unknownTool,
  waitsInTools,
  waitsInWorkflows,
} from './agent-tree.ts';
export { type AgentRoot, findAgent, rootOf } from './agents.ts';
export { guardPluginCallbacks, looksAtOutputs } from './callbacks.ts';
export { guardPluginConfirmations } from './confirmations.ts';
export type { BeforeSignIn, CredentialSource } from './credentials.ts';
export {
  answerDeferred,
  findTool,
  type Outcome,
  responseEvent,
  runDeferred,
  toResponse,
} from './deferred.ts';
export { chooseDriver, type Driver } from './driver.ts';
export { instrument } from './gate.ts';
export { GatePlugin, type RunView } from './gate-plugin.ts';
export {
  afterOlderRewind,
  answerWithin,
  concernsCall,
  danglingCalls,
  type FileSource,
  fileReference,
  RESUME,
  resumptionOf,
  rewindEvent,
  toContent,
  withinOf,
} from './history.ts';
export { MessageChunks, type MessageOutput, usageIn } from './message-chunks.ts';
export type { Speaker } from './request-hooks.ts';
export {
  type AgentPlace,
  type ApprovalOverride,
  approvalMessageOf,
  approvalTimeoutOf,
  type DeferredCall,
  type InnerHost,
  preliminaryOutput,
  ServerTools,
  unlessAborted,
} from './run.ts';
export { type FileChunk, savedFiles, savedFilesIn, withSavedFiles } from './saved-files.ts';
export type { CallDecider, CallFacts, CallOutlet, DataOptions, ToolRequest } from './tool-context.ts';
export { DuologueTool } from './tools.ts';
export { isStoppedWorkflow } from './workflow-runs.ts';
