import { type BaseAgent, InMemoryCredentialService, isApp, isWorkflow, Runner } from '@google/adk';
import {
  type AgentRoot,
  checkAgentTool,
  checkCopy,
  checkNames,
  checkNodes,
  chooseDriver,
  findAgent,
  GatePlugin,
  guardPluginCallbacks,
  guardPluginConfirmations,
  instrument,
  knownTools,
  looksAtOutputs,
  pluginFault,
  rootOf,
  savedFiles,
  waitsInTools,
  waitsInWorkflows,
} from '../adk/for-server.ts';
import {
  capabilitiesOf,
  checkModelsInTools,
  checkModelsOfTool,
  instrumentModels,
  isLiveOnly,
} from '../models/for-server.ts';
import { LIMITS, type Limits } from '../protocol/index.ts';
import { type BudgetLimits, shareOfHeap } from './access/limits.ts';
import { SignIn } from './access/sign-in.ts';
import { ToolSignIns } from './credentials/sign-ins.ts';
import type { ApprovalTimeouts, Engine, Owners } from './engine.ts';
import { EventHub } from './events/event-hub.ts';
import { DEFAULT_ATTACHMENTS } from './file-types.ts';
import { artifactUrl } from './files.ts';
import { RefusedAnswers } from './ledger/refused-answers.ts';
import { checkTools, type DuologueOptions } from './options.ts';
import { DraftPace } from './output/pace.ts';
import { StoreSessionService } from './store/adk-sessions.ts';
import { ARTIFACT_LIMITS, StoreArtifactService } from './store/artifact-service.ts';
import type { SharedStore } from './store/store.ts';

const MB = 1024 * 1024;

/** The parts of the engine that the caller creates; the rest is created from the options. */
interface Base extends Pick<Engine, 'clock' | 'logger' | 'store' | 'logs' | 'newId'> {
  /** The same object as `store`, if other nodes write to that store too; otherwise null. */
  shared: SharedStore | null;
  owners: Owners;
  budget: BudgetLimits;
}

/**
 * Creates the engine, which all sessions of a server share: the agent with a gate before each tool, ADK's runner on the store, and the options with their
 * defaults.
 */
export function createEngine(options: DuologueOptions, base: Base): Engine {
  const { clock, logger, store, shared, owners, logs, newId, budget } = base;
  const { agent: given, memoryService, credentialService = new InMemoryCredentialService() } = options;
  const app = isApp(given) ? given : null;
  const agent = rootOf(given);
  const appName = options.appName ?? app?.name ?? 'duologue';
  const plugins = [...(app?.plugins ?? []), ...(options.plugins ?? [])];
  if (app?.resumabilityConfig?.isResumable === false)
    throw new Error(
      `The App "${app.name}" has isResumable: false. Remove it: runs must be resumable, because calls wait for users.`,
    );
  const fault = app && pluginFault(app.plugins ?? []);
  if (fault) throw new TypeError(`The App "${app.name}" must have ${fault}.`);
  checkCopy(agent);
  checkNames(agent, appName);
  const { toolsRequiringApproval } = options;
  checkNodes(agent, toolsRequiringApproval);
  checkTools(options, logger);
  for (const text of waitsInWorkflows(agent, toolsRequiringApproval)) logger.warn(text);
  for (const text of waitsInTools(agent, toolsRequiringApproval)) logger.warn(text);
  const prepare = (root: AgentRoot) => {
    instrument(root);
    instrumentModels(root, { retryPolicy: { ...options.retryPolicy, timer: clock } });
  };
  prepare(agent);
  checkModelsInTools(agent);
  const prepareTool = (inner: BaseAgent) => {
    checkAgentTool(inner, agent, appName);
    prepare(inner);
    checkModelsOfTool(inner);
  };
  const { driver, warning } = chooseDriver(agent, {
    plugins,
    asked: options.driver,
    isLiveOnly: isLiveOnly(agent),
    hears: capabilitiesOf(agent).audioIn,
  });
  if (warning) logger.warn(warning);
  const history = {
    maxEvents: 2000,
    maxBytes: shareOfHeap(4 * MB),
    maxImageBytes: shareOfHeap(16 * MB),
    maxSessionBytes: 512 * MB,
    ...options.history,
  };
  const attachments = options.attachments ?? DEFAULT_ATTACHMENTS;
  const limits = limitsWithin(budget, options.limits);
  const events = new EventHub({ appName, clock, logger });
  const toolSignIns = new ToolSignIns(options.toolSignIn, {
    service: credentialService,
    clock,
    canAsk: options.confirmations !== 'tool',
  });
  const plugin = new GatePlugin(
    toolsRequiringApproval,
    {
      prepare,
      prepareTool,
      rootName: agent.name,
      has: (name) => findAgent(agent, name) !== undefined,
    },
    toolSignIns,
  );
  const sessionService = new StoreSessionService(
    store,
    {
      sessions: 500,
      characters: shareOfHeap(256 * MB),
      history: { events: history.maxEvents, bytes: history.maxBytes },
      imageBytes: history.maxImageBytes,
    },
    {
      withdraw: (session, event) => plugin.withdraw(session, event),
      stored: (session, event) => plugin.stored(session, event),
      savedFiles: (key, actions) => filesOf(key, actions),
    },
    shared,
    {
      clock,
      onWait: (error) =>
        logger.error(
          'an event of the agent cannot be stored: its write is repeated until it succeeds; check the store',
          {
            error: error.message,
          },
        ),
    },
    events,
  );
  const artifactService =
    options.artifactService ??
    new StoreArtifactService({
      store,
      owned: (key) => sessionService.owned(key),
      limits: { ...ARTIFACT_LIMITS, ...options.artifacts, maxSessionBytes: history.maxSessionBytes },
    });
  const filesOf: Engine['savedFiles'] = ({ app: name, user: userId, id }, actions) => {
    const addressOf = (file: string, version: number) => artifactUrl(id, file, version);
    return savedFiles(artifactService, { appName: name, userId, id }, actions, addressOf);
  };
  const runner = new Runner({
    appName,
    agent,
    sessionService,
    // Our plugin comes first, so that no other plugin can bypass the gate of a call.
    plugins: [plugin, ...plugins],
    // With this setting ADK continues the run of the agent that made a call, when the call is answered.
    resumabilityConfig: { isResumable: true },
    artifactService,
    ...(memoryService ? { memoryService } : {}),
    credentialService,
  });
  guardPluginCallbacks(runner.pluginManager);
  guardPluginConfirmations(runner.pluginManager);
  return {
    appName,
    rootAgent: agent,
    runner,
    plugin,
    store,
    owners,
    logs,
    sessionService,
    clock,
    drafts: new DraftPace(clock),
    newId,
    logger,
    savedFiles: filesOf,
    signIn: new SignIn(options.stillSignedIn, clock, logger),
    refusals: new RefusedAnswers(store, clock, logger),
    events,
    attachments: () => {
      const { files, imageBytes, fileBytes } = limits;
      const types = capabilitiesOf(agent).imageIn
        ? attachments
        : attachments.filter((type) => !type.startsWith('image/'));
      return { types: [...types], files, imageBytes, fileBytes };
    },
    toolSignIns,
    capabilities: () => {
      const { audioIn, imageIn, audioOut } = capabilitiesOf(agent);
      return { hears: audioIn && driver !== 'turn', sees: imageIn, speaks: audioOut };
    },
    options: {
      images: options.images ?? 'file',
      attachments,
      denials: options.denials ?? 'tool-output-error',
      confirmations: options.confirmations ?? 'approval',
      approvals: options.approvals ?? 'sequential',
      approvalTimeoutMs: timeouts(options.approvalTimeoutMs),
      questionTimeoutMs: options.questionTimeoutMs ?? null,
      signInTimeoutMs: toolSignIns.timeoutMs,
      clientTimeoutMs: options.clientTimeoutMs === undefined ? 60_000 : options.clientTimeoutMs,
      toolTimeoutMs: options.toolTimeoutMs === undefined ? 60_000 : options.toolTimeoutMs,
      concurrentTools: options.concurrentTools ?? [],
      data: options.data ?? {},
      tellsDecisions: knownTools(agent).hearsDecisions,
      toolRequest: options.toolRequest ?? null,
      whenBusy: options.whenBusy ?? 'queue',
      maxSessionBytes: history.maxSessionBytes,
      limits,
      live: { outputAudioTranscription: {}, inputAudioTranscription: {}, ...options.live },
      driver,
      isWorkflow: isWorkflow(agent),
      callsBack: looksAtOutputs(agent, plugins),
    },
  };
}

/**
 * Lowers the limit of bodies to the byte budget. A body that can never fit is then refused with `too_large`; without this, it would be refused with
 * `overloaded`, after which clients send it again.
 */
function limitsWithin({ userBytes, serverBytes }: BudgetLimits, given: Partial<Limits> = {}): Limits {
  const limits = { ...LIMITS, ...given };
  return { ...limits, bodyBytes: Math.min(limits.bodyBytes, userBytes, serverBytes) };
}

function timeouts(given: DuologueOptions['approvalTimeoutMs']): ApprovalTimeouts {
  if (given === null || typeof given === 'number') return { sse: given, bidi: given };
  return { sse: given?.sse ?? null, bidi: given?.bidi === undefined ? 30_000 : given.bidi };
}
