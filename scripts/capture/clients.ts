import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import type { Client } from './providers.ts';

const HERE = new URL('.', import.meta.url).pathname;

type Env = Readonly<Record<string, string | undefined>>;
type Request = Record<string, unknown>;

/** The part of each vendor's SDK that the capture calls. The packages are installed only when a capture runs. */
interface OpenAiSdk {
  default: new (options: object) => { chat: { completions: { create(request: Request): Promise<unknown> } } };
}
interface AnthropicSdk {
  default: new (options: object) => { messages: { create(request: Request): Promise<unknown> } };
}
interface GoogleSdk {
  GoogleGenAI: new (
    options: object,
  ) => {
    models: {
      generateContent(request: Request): Promise<unknown>;
      generateContentStream(request: Request): Promise<AsyncIterable<unknown>>;
    };
  };
}
interface BedrockSdk {
  BedrockRuntimeClient: new (
    options: object,
  ) => { send(command: object): Promise<{ stream?: AsyncIterable<unknown> }> };
  ConverseCommand: new (request: Request) => object;
  ConverseStreamCommand: new (request: Request) => object;
}

/** Installs the SDKs, from their own lock file, the first time they are needed. */
function install(log: (line: string) => void): void {
  if (existsSync(`${HERE}node_modules`)) return;
  log("installing the vendors' SDKs (once) ...");
  const { status } = spawnSync('npm', ['ci', '--prefix', HERE, '--no-audit', '--no-fund'], {
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error(`npm ci failed in ${HERE}`);
}

async function load<Sdk>(name: string): Promise<Sdk> {
  const path = createRequire(`${HERE}package.json`).resolve(name);
  return (await import(pathToFileURL(path).href)) as Sdk;
}

const CLIENTS: Readonly<Record<string, (env: Env) => Promise<Client>>> = {
  async openai(env) {
    const { default: OpenAI } = await load<OpenAiSdk>('openai');
    const client = new OpenAI({ apiKey: env.OPENAI_API_KEY, baseURL: env.OPENAI_BASE_URL });
    const create = (request: Request) => client.chat.completions.create(request);
    return { call: create, stream: async (request) => (await create(request)) as AsyncIterable<unknown> };
  },
  async anthropic(env) {
    const { default: Anthropic } = await load<AnthropicSdk>('@anthropic-ai/sdk');
    const client = new Anthropic({ apiKey: env.ANTHROPIC_API_KEY, baseURL: env.ANTHROPIC_BASE_URL });
    const create = (request: Request) => client.messages.create(request);
    return { call: create, stream: async (request) => (await create(request)) as AsyncIterable<unknown> };
  },
  async gemini(env) {
    return geminiClient(await load<GoogleSdk>('@google/genai'), env);
  },
  async bedrock(env) {
    const sdk = await load<BedrockSdk>('@aws-sdk/client-bedrock-runtime');
    const client = new sdk.BedrockRuntimeClient({ region: env.AWS_REGION ?? 'us-east-1' });
    return {
      call: (request) => client.send(new sdk.ConverseCommand(request)),
      stream: async (request) =>
        (await client.send(new sdk.ConverseStreamCommand(request))).stream ?? emptyStream(),
    };
  },
};

async function* emptyStream(): AsyncGenerator<unknown> {}

/** A Gemini client over an already loaded copy of Google's SDK. */
export function geminiClient({ GoogleGenAI }: GoogleSdk, env: Env): Client {
  const baseUrl = env.GOOGLE_GEMINI_BASE_URL;
  const { models } = new GoogleGenAI({
    apiKey: env.GOOGLE_API_KEY ?? env.GEMINI_API_KEY,
    ...(baseUrl && { httpOptions: { baseUrl } }),
  });
  return {
    call: (request) => models.generateContent(request),
    stream: (request) => models.generateContentStream(request),
  };
}

/** Makes clients over the vendors' own SDKs. */
export function sdkClients(env: Env, log: (line: string) => void): (provider: string) => Promise<Client> {
  return async (provider) => {
    install(log);
    const make = CLIENTS[provider];
    if (make === undefined) throw new Error(`no SDK for ${provider}`);
    return make(env);
  };
}
