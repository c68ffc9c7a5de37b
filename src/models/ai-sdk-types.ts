/** A language model of an AI SDK provider, of the contract of `ai` 6 (`v3`) or 7 (`v4`). */
export interface AiSdkModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<{ stream: ReadableStream<unknown> }>;
}

/** Metadata of a provider about a part, which the provider gets back with the part. */
export type ProviderMetadata = Record<string, Record<string, never>>;

interface Said {
  providerOptions?: ProviderMetadata;
}

/** The data of a file: bare in the contract of `ai` 6, with its kind in that of `ai` 7. */
export type FileData = string | URL | { type: 'data'; data: string } | { type: 'url'; url: URL };

export interface TextPart extends Said {
  type: 'text' | 'reasoning';
  text: string;
}

export interface FilePart extends Said {
  type: 'file';
  mediaType: string;
  filename?: string;
  data: FileData;
}

export interface ToolCallPart extends Said {
  type: 'tool-call';
  toolCallId: string;
  toolName: string;
  input: unknown;
}

export interface ToolResultPart {
  type: 'tool-result';
  toolCallId: string;
  toolName: string;
  output: { type: 'error-text'; value: string } | { type: 'json'; value: unknown };
}

/** One message of a prompt. */
export type Message =
  | { role: 'system'; content: string }
  | { role: 'user'; content: (TextPart | FilePart)[] }
  | { role: 'assistant'; content: (TextPart | FilePart | ToolCallPart)[] }
  | { role: 'tool'; content: ToolResultPart[] };

/** The options of a call. */
export interface CallOptions {
  prompt: Message[];
  maxOutputTokens?: number;
  temperature?: number;
  stopSequences?: string[];
  topP?: number;
  topK?: number;
  presencePenalty?: number;
  frequencyPenalty?: number;
  seed?: number;
  responseFormat?: { type: 'json'; schema?: Record<string, unknown> };
  tools?: { type: 'function'; name: string; description?: string; inputSchema: Record<string, unknown> }[];
  toolChoice?: { type: 'auto' | 'none' | 'required' };
  abortSignal?: AbortSignal;
  providerOptions?: Record<string, Record<string, unknown>>;
}

/** A part of a provider's stream, with the fields that are read. */
export type StreamPart =
  | {
      type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end';
      id: string;
      providerMetadata?: ProviderMetadata;
    }
  | { type: 'text-delta' | 'reasoning-delta'; id: string; delta: string; providerMetadata?: ProviderMetadata }
  | { type: 'tool-input-delta'; id: string; delta: string }
  | {
      type: 'tool-call';
      toolCallId: string;
      toolName: string;
      input: string;
      providerExecuted?: boolean;
      providerMetadata?: ProviderMetadata;
    }
  | {
      type: 'file';
      mediaType: string;
      data: string | Uint8Array | { type: string; data?: string | Uint8Array };
    }
  | { type: 'source'; sourceType: string; url?: string; title?: string }
  | { type: 'response-metadata'; modelId?: string }
  | { type: 'finish'; finishReason: { unified: string; raw?: string | undefined }; usage: Usage }
  | { type: 'error'; error: unknown };

/** Tokens as a provider counts them. */
export interface Usage {
  inputTokens: {
    total: number | undefined;
    cacheRead: number | undefined;
    cacheWrite?: number | undefined;
  };
  outputTokens: { total: number | undefined; reasoning: number | undefined };
}
