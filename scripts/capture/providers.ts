// The default models of the library, imported so that one place names them.
import { anthropic as ofAnthropic } from '../../src/models/providers/anthropic.ts';
import { bedrock as ofBedrock } from '../../src/models/providers/bedrock.ts';
import type { Scenario } from './scenarios.ts';

/** Sends requests through a vendor's SDK. */
export interface Client {
  call(request: Record<string, unknown>): Promise<unknown>;
  stream(request: Record<string, unknown>): Promise<AsyncIterable<unknown>>;
}

/** One message of a conversation. */
export interface Line {
  role: 'user' | 'assistant';
  text: string;
}

/** A provider: how to send it a request, and the environment variables that this needs. */
export interface Provider {
  name: string;
  /** The environment variables that hold a key; one of the groups must be complete. */
  keys: readonly (readonly string[])[];
  request(scenario: Scenario, lines: readonly Line[]): Record<string, unknown>;
  model(scenario: Scenario): string;
}

const openai: Provider = {
  name: 'openai',
  keys: [['OPENAI_API_KEY']],
  model: (scenario) => (scenario.reasoning ? 'o4-mini' : 'gpt-4o'),
  request: (scenario, lines) => ({
    model: openai.model(scenario),
    messages: [
      ...(scenario.system ? [{ role: 'system', content: scenario.system }] : []),
      ...lines.map(({ role, text }) => ({ role, content: text })),
    ],
    ...(scenario.tools && { tools: scenario.tools.map((tool) => ({ type: 'function', function: tool })) }),
    ...(scenario.schema && {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', strict: true, schema: scenario.schema },
      },
    }),
    ...(scenario.stream && { stream: true, stream_options: { include_usage: true } }),
  }),
};

const anthropic: Provider = {
  name: 'anthropic',
  keys: [['ANTHROPIC_API_KEY']],
  model: () => ofAnthropic.model ?? '',
  request: (scenario, lines) => ({
    model: anthropic.model(scenario),
    max_tokens: scenario.reasoning ? 4096 : 1024,
    ...(scenario.system && { system: scenario.system }),
    messages: lines.map(({ role, text }) => ({ role, content: text })),
    ...(scenario.tools && {
      tools: scenario.tools.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters })),
    }),
    ...(scenario.schema && {
      tools: [{ name: 'answer', description: 'Give the answer', input_schema: scenario.schema }],
      tool_choice: { type: 'tool', name: 'answer' },
    }),
    ...(scenario.reasoning && { thinking: { type: 'enabled', budget_tokens: 2048 } }),
    ...(scenario.stream && { stream: true }),
  }),
};

const gemini: Provider = {
  name: 'gemini',
  keys: [['GOOGLE_API_KEY'], ['GEMINI_API_KEY']],
  model: () => 'gemini-2.5-flash',
  request: (scenario, lines) => ({
    model: gemini.model(scenario),
    contents: lines.map(({ role, text }) => ({
      role: role === 'user' ? 'user' : 'model',
      parts: [{ text }],
    })),
    config: {
      ...(scenario.system && { systemInstruction: scenario.system }),
      ...(scenario.tools && {
        tools: [
          {
            functionDeclarations: scenario.tools.map(({ parameters, ...tool }) => ({
              ...tool,
              parametersJsonSchema: parameters,
            })),
          },
        ],
      }),
      ...(scenario.schema && { responseMimeType: 'application/json', responseJsonSchema: scenario.schema }),
      ...(scenario.reasoning && { thinkingConfig: { includeThoughts: true } }),
    },
  }),
};

const bedrock: Provider = {
  name: 'bedrock',
  keys: [['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'], ['AWS_PROFILE'], ['AWS_BEARER_TOKEN_BEDROCK']],
  model: () => `us.${ofBedrock.model}`,
  request: (scenario, lines) => ({
    modelId: bedrock.model(scenario),
    ...(scenario.system && { system: [{ text: scenario.system }] }),
    messages: lines.map(({ role, text }) => ({ role, content: [{ text }] })),
    inferenceConfig: { maxTokens: scenario.reasoning ? 4096 : 1024 },
    ...((scenario.tools || scenario.schema) && { toolConfig: bedrockTools(scenario) }),
    ...(scenario.reasoning && {
      additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 2048 } },
    }),
  }),
};

function bedrockTools(scenario: Scenario): Record<string, unknown> {
  const spec = (name: string, description: string, json: unknown) => ({
    toolSpec: { name, description, inputSchema: { json } },
  });
  if (scenario.schema) {
    return {
      tools: [spec('answer', 'Give the answer', scenario.schema)],
      toolChoice: { tool: { name: 'answer' } },
    };
  }
  return { tools: scenario.tools?.map((tool) => spec(tool.name, tool.description, tool.parameters)) };
}

/** Every provider that can be captured. */
export const PROVIDERS: readonly Provider[] = [openai, anthropic, gemini, bedrock];
