import type { BaseTool, LlmRequest } from '@google/adk';
import { Behavior, type LiveConnectConfig, ThinkingLevel, type ToolListUnion } from '@google/genai';
import { exhaustive } from '../../protocol/exhaustive.ts';
import { instructionParts } from '../prompt-texts.ts';
import { ModelFailure } from '../provider-error.ts';
import type { LiveFamily } from './families.ts';

/** The fields of an agent's `generateContentConfig` that every live session accepts. */
const SHARED = [
  'temperature',
  'topP',
  'topK',
  'maxOutputTokens',
  'seed',
  'mediaResolution',
  'safetySettings',
] as const;

/** The fields of ADK's configuration of a live run that every live session accepts. The setup gets no other field of it, except those in `MOODS`. */
const LIVE = [
  'responseModalities',
  'speechConfig',
  'inputAudioTranscription',
  'outputAudioTranscription',
  'realtimeInputConfig',
] as const;

/** Fields that only some families accept. Other families refuse a setup with such a field, even if it is false, or never answer the setup. */
const MOODS = ['proactivity', 'enableAffectiveDialog'] as const;

/** Without compression a session ends after 15 minutes, and every turn is billed with the whole conversation. */
const COMPRESSION: LiveConnectConfig['contextWindowCompression'] = {
  triggerTokens: '25000',
  slidingWindow: { targetTokens: '8000' },
};

/** The facts on which a setup depends. */
export interface SetupOptions {
  model: string;
  family: LiveFamily;
  /** Names of the tools whose calls the model does not wait for. */
  nonBlocking: ReadonlySet<string>;
  handle?: string | undefined;
  /** At which length of the session the service drops old turns; with null it drops none. */
  compression?: LiveConnectConfig['contextWindowCompression'] | null | undefined;
}

/**
 * Returns the setup of a live session: the fields of ADK's request that the model family accepts. Throws when the family lacks a built-in tool of the
 * request.
 */
export function liveConfigOf(request: LlmRequest, options: SetupOptions): LiveConnectConfig {
  const { config = {}, liveConnectConfig } = request;
  const { family, handle, compression = COMPRESSION } = options;
  const { systemInstruction, tools } = config;
  const moods = family.acceptsMoods ? pick(liveConnectConfig, MOODS) : {};
  // ADK sets false by default, so false is not a choice of the application: leave it out.
  if (moods.enableAffectiveDialog === false) delete moods.enableAffectiveDialog;
  return {
    ...pick(config, SHARED),
    ...pick(liveConnectConfig, LIVE),
    ...moods,
    ...thinkingOf(config.thinkingConfig, family),
    ...(systemInstruction
      ? { systemInstruction: { role: 'system', parts: instructionParts(systemInstruction) } }
      : {}),
    ...(tools ? { tools: withBehavior(known(tools, options), family, options.nonBlocking) } : {}),
    ...(compression ? { contextWindowCompression: compression } : {}),
    // `sessionResumption` is always sent: without it the server never sends a handle to resume the session.
    sessionResumption: handle === undefined ? {} : { handle },
  };
}

/** The names of the tools whose calls the model does not wait for. */
export function nonBlockingNames(
  request: LlmRequest,
  family: LiveFamily,
  choose?: (tool: BaseTool) => boolean,
): Set<string> {
  if (family.behavior === 'none') return new Set();
  const isChosen = choose ?? (family.behavior === 'explicit' ? mayTakeTime : saysNonBlocking);
  return new Set(
    Object.entries(request.toolsDict).flatMap(([name, tool]) =>
      family.behavior === 'all' || (tool && isChosen(tool)) ? [name] : [],
    ),
  );
}

function saysNonBlocking(tool: BaseTool): boolean {
  return (tool as { nonBlocking?: unknown }).nonBlocking === true;
}

/**
 * Whether calls of a tool should be non-blocking, in a family whose `behavior` is `explicit`. New input makes such a model forget a blocking call and
 * make it again, so only tools with `changesNothing` may block.
 */
function mayTakeTime(tool: BaseTool): boolean {
  return saysNonBlocking(tool) || (tool as { changesNothing?: unknown }).changesNothing !== true;
}

function pick<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Partial<Pick<T, K>> {
  const picked: Partial<Pick<T, K>> = {};
  for (const key of keys) if (from[key] !== undefined) picked[key] = from[key];
  return picked;
}

type Thinking = LiveConnectConfig['thinkingConfig'];

function thinkingOf(given: Thinking, { thinking }: LiveFamily): { thinkingConfig?: NonNullable<Thinking> } {
  const { thinkingBudget: _, thinkingLevel, ...rest } = given ?? {};
  switch (thinking) {
    case 'none':
      return {};
    case 'budget':
    case 'optional level': {
      const field = thinking === 'budget' ? 'thinkingBudget' : 'thinkingLevel';
      const thinkingConfig = { ...rest, ...pick(given ?? {}, [field]) };
      return Object.keys(thinkingConfig).length > 0 ? { thinkingConfig } : {};
    }
    case 'level': {
      const isTaken = thinkingLevel !== undefined && thinkingLevel !== ThinkingLevel.MINIMAL;
      return { thinkingConfig: { ...rest, thinkingLevel: isTaken ? thinkingLevel : ThinkingLevel.LOW } };
    }
    default:
      return exhaustive(thinking);
  }
}

/** Returns the tools. Throws when the family lacks one of them; without this check the service would close the connection with a vague reason. */
function known(tools: ToolListUnion, { family, model }: SetupOptions): ToolListUnion {
  const has = new Set<string>(['functionDeclarations', ...family.builtIn]);
  for (const tool of tools) {
    const lacks = Object.entries(tool).find(([name, value]) => value !== undefined && !has.has(name))?.[0];
    if (lacks === undefined) continue;
    const others = [...has].filter((name) => name !== 'functionDeclarations').join(', ');
    throw new ModelFailure(
      'SETUP',
      `The live model ${model} does not have the tool ${lacks}. Besides functions it has ${others}: leave the tool out, or let a function do its work.`,
    );
  }
  return tools;
}

function withBehavior(
  tools: ToolListUnion,
  { behavior }: LiveFamily,
  nonBlocking: ReadonlySet<string>,
): ToolListUnion {
  if (behavior === 'none' && !tools.some(hasBehavior)) return tools;
  return tools.map((tool) => {
    if (!('functionDeclarations' in tool) || !tool.functionDeclarations) return tool;
    return {
      ...tool,
      functionDeclarations: tool.functionDeclarations.map(({ behavior: own, ...declaration }) => {
        if (behavior === 'none') return declaration;
        if (behavior === 'all') return { ...declaration, behavior: Behavior.NON_BLOCKING };
        if (own) return { ...declaration, behavior: own };
        if (nonBlocking.has(declaration.name ?? ''))
          return { ...declaration, behavior: Behavior.NON_BLOCKING };
        return behavior === 'explicit' ? { ...declaration, behavior: Behavior.BLOCKING } : declaration;
      }),
    };
  });
}

function hasBehavior(tool: ToolListUnion[number]): boolean {
  return 'functionDeclarations' in tool && (tool.functionDeclarations ?? []).some(({ behavior }) => behavior);
}
