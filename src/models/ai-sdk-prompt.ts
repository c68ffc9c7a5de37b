import type { LlmRequest } from '@google/adk';
import { type Content, FunctionCallingConfigMode, type FunctionDeclaration, type Part } from '@google/genai';
import type { LanguageModel } from 'ai';
import { toJsonSchema } from '../adk/json-schema.ts';
import { instructionParts } from './prompt-texts.ts';
import { readable } from './text-files.ts';

type ModelV3 = Extract<LanguageModel, { specificationVersion: 'v3' }>;

/** The options of a model call, as `ai` 6 declares them. */
export type CallOptions = Parameters<ModelV3['doStream']>[0];

/** A part of the stream that `doStream` of a provider returns. */
export type StreamPart =
  Awaited<ReturnType<ModelV3['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never;

type Message = CallOptions['prompt'][number];
type Assistant = Extract<Message, { role: 'assistant' }>['content'];
type User = Extract<Message, { role: 'user' }>['content'];
type FilePart = Extract<User[number], { type: 'file' }>;
type ToolResults = Extract<Message, { role: 'tool' }>['content'];
type ProviderMetadata = NonNullable<FilePart['providerOptions']>;
type JsonObject = ProviderMetadata[string];

/** The settings that have the same name in ADK and in the AI SDK. */
const SETTINGS = [
  'temperature',
  'maxOutputTokens',
  'topP',
  'topK',
  'stopSequences',
  'presencePenalty',
  'frequencyPenalty',
  'seed',
] as const;

/** The key in a part's `partMetadata` under which metadata of the provider is stored. */
const METADATA = 'aiSdk';

/** Returns the field of a part that stores metadata of the provider. When the part is in a later request, `toCallOptions` sends this metadata with it. */
export function keepMetadata(metadata: ProviderMetadata | undefined): Pick<Part, 'partMetadata'> {
  return metadata ? { partMetadata: { [METADATA]: metadata } } : {};
}

/** Converts an ADK request to the call options of the AI SDK. */
export function toCallOptions(request: LlmRequest, specificationVersion: string): CallOptions {
  const { config = {} } = request;
  const tools = (config.tools ?? []).flatMap((tool) =>
    'functionDeclarations' in tool ? (tool.functionDeclarations ?? []) : [],
  );
  const toolChoice = toToolChoice(config.toolConfig?.functionCallingConfig?.mode);
  const schema = config.responseJsonSchema ?? config.responseSchema;
  return {
    prompt: toPrompt(request, specificationVersion === 'v3'),
    ...Object.fromEntries(
      SETTINGS.flatMap((name) => (config[name] === undefined ? [] : [[name, config[name]]])),
    ),
    ...(schema || config.responseMimeType === 'application/json'
      ? {
          responseFormat: {
            type: 'json',
            ...(schema ? { schema: toJsonSchema(schema) as Record<string, unknown> } : {}),
          },
        }
      : {}),
    ...(tools.length > 0 ? { tools: tools.map(toTool) } : {}),
    ...(tools.length > 0 && toolChoice ? { toolChoice } : {}),
  };
}

function toPrompt(request: LlmRequest, isBare: boolean): Message[] {
  const prompt: Message[] = [];
  const { systemInstruction } = request.config ?? {};
  const instruction = (systemInstruction ? instructionParts(systemInstruction) : [])
    .map((part) => part.text ?? '')
    .join('\n');
  if (instruction) prompt.push({ role: 'system', content: instruction });
  const ids = new CallIds();
  for (const content of request.contents) prompt.push(...toMessages(content, ids, isBare));
  return prompt;
}

function toMessages(content: Content, ids: CallIds, isBare: boolean): Message[] {
  const assistant: Assistant = [];
  const tool: ToolResults = [];
  const user: User = [];
  const isModel = content.role === 'model';
  for (const given of content.parts ?? []) {
    const part = readable(given);
    const providerOptions = providerOptionsOf(part);
    if (part.functionCall) {
      const { id, name = '', args = {} } = part.functionCall;
      assistant.push({
        type: 'tool-call',
        toolCallId: ids.forCall(name, id),
        toolName: name,
        input: args,
        ...providerOptions,
      });
    } else if (part.functionResponse) {
      const { id, name = '', response = {} } = part.functionResponse;
      tool.push({
        type: 'tool-result',
        toolCallId: ids.forResponse(name, id),
        toolName: name,
        output:
          typeof response.error === 'string'
            ? { type: 'error-text', value: response.error }
            : { type: 'json', value: response as JsonObject },
      });
    } else if (part.inlineData || part.fileData) {
      const file = toFile(part, isBare);
      if (file) (isModel ? assistant : user).push(file);
    } else if (part.text !== undefined && (part.text !== '' || part.partMetadata)) {
      if (part.thought) assistant.push({ type: 'reasoning', text: part.text, ...providerOptions });
      else
        (isModel ? assistant : user).push({
          type: 'text',
          text: part.text,
          ...(isModel ? providerOptions : {}),
        });
    }
  }
  // Leave out a message that has only thoughts, such as an answer that was cut off before its first word: providers refuse it.
  const says = assistant.some(({ type }) => type !== 'reasoning');
  return [
    ...(says ? [{ role: 'assistant' as const, content: assistant }] : []),
    ...(tool.length > 0 ? [{ role: 'tool' as const, content: tool }] : []),
    ...(user.length > 0 ? [{ role: 'user' as const, content: user }] : []),
  ];
}

function providerOptionsOf(part: Part): { providerOptions?: ProviderMetadata } {
  const metadata = part.partMetadata?.[METADATA];
  return metadata ? { providerOptions: metadata as ProviderMetadata } : {};
}

function toFile({ inlineData, fileData }: Part, isBare: boolean): FilePart | undefined {
  const { mimeType: mediaType = 'application/octet-stream', displayName } = inlineData ?? fileData ?? {};
  const named = { type: 'file' as const, mediaType, ...(displayName ? { filename: displayName } : {}) };
  const { data } = inlineData ?? {};
  // `ai` 6 takes the bare data or URL; `ai` 7 takes an object that names its type.
  const file = (bare: string | URL, kind: object) => ({ ...named, data: isBare ? bare : kind }) as FilePart;
  if (data) return file(data, { type: 'data', data });
  if (!fileData?.fileUri || !URL.canParse(fileData.fileUri)) return undefined;
  const url = new URL(fileData.fileUri);
  return file(url, { type: 'url', url });
}

/**
 * Gives ids to calls that have none: ADK removes the ids that it made itself, and providers require ids. A response without an id belongs to the oldest
 * open call of its name.
 */
class CallIds {
  private readonly open = new Map<string, string[]>();
  private made = 0;

  forCall(name: string, id: string | undefined): string {
    if (id !== undefined) return id;
    const made = `call_adk_${this.made++}`;
    this.open.set(name, [...(this.open.get(name) ?? []), made]);
    return made;
  }

  forResponse(name: string, id: string | undefined): string {
    return id ?? this.open.get(name)?.shift() ?? `call_adk_${this.made++}`;
  }
}

function toTool(declaration: FunctionDeclaration) {
  const { name = '', description, parametersJsonSchema, parameters } = declaration;
  const schema = toJsonSchema(parametersJsonSchema ?? parameters ?? {}) as Record<string, unknown>;
  return {
    type: 'function' as const,
    name,
    ...(description === undefined ? {} : { description }),
    inputSchema: 'type' in schema ? schema : { type: 'object', properties: {}, ...schema },
  };
}

function toToolChoice(mode: FunctionCallingConfigMode | undefined): CallOptions['toolChoice'] {
  if (mode === FunctionCallingConfigMode.ANY) return { type: 'required' };
  if (mode === FunctionCallingConfigMode.NONE) return { type: 'none' };
  return undefined;
}
