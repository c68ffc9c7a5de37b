import type { BaseTool, LlmRequest } from '@google/adk';
import { Behavior, type LiveConnectConfig, type ToolListUnion } from '@google/genai';
import { instructionParts } from './instruction.ts';

/** What an agent's `generateContentConfig` can say that a live session understands too. */
const SHARED = [
  'temperature',
  'topP',
  'topK',
  'maxOutputTokens',
  'seed',
  'mediaResolution',
  'thinkingConfig',
  'safetySettings',
] as const;

/** Whether this is a model that takes typed text as realtime input and waits for every function response. */
export function isGemini3Live(model: string): boolean {
  return /(^|\/)gemini-3[.-].*-live/.test(model);
}

/** The setup of a live session, from what ADK put into the request. */
export function liveConfigOf(
  request: LlmRequest,
  options: { vertexai: boolean; nonBlocking: ReadonlySet<string> },
): LiveConnectConfig {
  const { config = {}, liveConnectConfig } = request;
  const shared = Object.fromEntries(
    SHARED.flatMap((key) => (config[key] === undefined ? [] : [[key, config[key]]])),
  );
  const { transparent, ...resumption } = liveConnectConfig.sessionResumption ?? {};
  const { systemInstruction, tools } = config;
  return {
    ...shared,
    ...liveConnectConfig,
    ...(systemInstruction
      ? { systemInstruction: { role: 'system', parts: instructionParts(systemInstruction) } }
      : {}),
    ...(tools ? { tools: withBehavior(tools, options.nonBlocking) } : {}),
    // Always asked for: without it the server never says from where to resume.
    sessionResumption: options.vertexai && transparent ? { ...resumption, transparent } : resumption,
  };
}

/** The names of the tools whose calls the model need not wait for. */
export function nonBlockingNames(
  request: LlmRequest,
  options: { supported: boolean; choose?: (tool: BaseTool) => boolean },
): Set<string> {
  const { supported, choose = saysNonBlocking } = options;
  if (!supported) return new Set();
  return new Set(
    Object.keys(request.toolsDict).filter((name) => {
      const tool = request.toolsDict[name];
      return tool !== undefined && choose(tool);
    }),
  );
}

function saysNonBlocking(tool: BaseTool): boolean {
  return (tool as { nonBlocking?: unknown }).nonBlocking === true;
}

function withBehavior(tools: ToolListUnion, nonBlocking: ReadonlySet<string>): ToolListUnion {
  if (nonBlocking.size === 0) return tools;
  return tools.map((tool) => {
    if (!('functionDeclarations' in tool) || !tool.functionDeclarations) return tool;
    return {
      ...tool,
      functionDeclarations: tool.functionDeclarations.map((declaration) =>
        nonBlocking.has(declaration.name ?? '') && !declaration.behavior
          ? { ...declaration, behavior: Behavior.NON_BLOCKING }
          : declaration,
      ),
    };
  });
}
