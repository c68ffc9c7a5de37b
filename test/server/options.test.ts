import {
  App,
  BasePlugin,
  type BaseTool,
  BaseToolset,
  FunctionTool,
  LlmAgent,
  LogLevel,
  SequentialAgent,
  setLogLevel,
} from '@google/adk';
import { describe, expect, it } from 'vitest';
import { createDuologue, createMemoryStore, type DuologueOptions } from '../../src/server/index.ts';
import { FakeTime } from '../../src/testing/index.ts';
import { fourTools } from '../support/demo-tools.ts';
import { MemoryHub, SharedMemory } from '../support/memory-hub.ts';
import { ScriptedModel } from '../support/scripted-model.ts';

setLogLevel(LogLevel.ERROR);

const { payment, weather } = fourTools();

const agentWith = (...tools: LlmAgent['tools']) =>
  new LlmAgent({ name: 'teller', model: new ScriptedModel(), tools });

class Audit extends BasePlugin {}

/** A plugin as another copy of ADK makes it: the same members, from another class. */
const foreign = { name: 'logs', beforeToolCallback: async () => undefined };

/** Starts a server as JavaScript would; returns its warnings. */
function start(options: Record<string, unknown>): string[] {
  const warnings: string[] = [];
  const logger = { info() {}, warn: (message: string) => warnings.push(message), error() {} };
  const given = { agent: agentWith(payment, weather), logger, ...options };
  createDuologue(given as unknown as DuologueOptions);
  return warnings;
}

class Toolset extends BaseToolset {
  constructor() {
    super([]);
  }
  override async getTools(): Promise<BaseTool[]> {
    return [];
  }
  override async close(): Promise<void> {}
}

describe('names of tools in the options', () => {
  it.each(['toolsRequiringApproval', 'concurrentTools'])('that no agent has are refused: %s', (option) => {
    expect(() => start({ [option]: ['proces_payment'] })).toThrow(
      `${option}: no agent has a tool named "proces_payment". Did you mean "process_payment"?`,
    );
    expect(() => start({ [option]: ['launch'] })).toThrow(`${option}: no agent has a tool named "launch".`);
    expect(start({ [option]: ['process_payment', 'get_weather'] })).toEqual([]);
  });

  it('may be those of a sub-agent, also inside a workflow', () => {
    const agent = new LlmAgent({ name: 'root', model: new ScriptedModel(), subAgents: [agentWith(payment)] });
    expect(start({ agent, toolsRequiringApproval: ['process_payment'] })).toEqual([]);
    const flow = new SequentialAgent({ name: 'flow', subAgents: [agentWith(weather)] });
    expect(start({ agent: flow, concurrentTools: ['get_weather'] })).toEqual([]);
    expect(() => start({ agent: flow, concurrentTools: ['get_wether'] })).toThrow('"get_weather"');
  });

  it('are named in a warning where a toolset may bring the tool later', () => {
    const agent = agentWith(payment, new Toolset());
    expect(start({ agent, toolsRequiringApproval: ['process_payment', 'proces_payment'] })).toEqual([
      'toolsRequiringApproval: no agent has a tool named "proces_payment". Did you mean "process_payment"? It has an effect only if a toolset brings a tool of that name.',
    ]);
  });

  it('must differ within an agent', () => {
    const twin = new FunctionTool({ name: 'get_weather', description: 'Another.', execute: () => 'rain' });
    expect(() => start({ agent: agentWith(weather, twin) })).toThrow(
      'The agent "teller" has two tools named "get_weather": ADK would call only one of them. Rename one.',
    );
    const other = new LlmAgent({ name: 'other', model: new ScriptedModel(), tools: [twin] });
    const root = new LlmAgent({
      name: 'root',
      model: new ScriptedModel(),
      subAgents: [agentWith(weather), other],
    });
    expect(start({ agent: root })).toEqual([]);
  });
});

describe('options of createDuologue', () => {
  it.each<[Record<string, unknown>, string]>([
    [
      { origins: ['chat.example.com'] },
      '"origins" has "chat.example.com", which is not an origin. Write the scheme as well, such as "https://chat.example.com".',
    ],
    [{ origins: ['chat.example.com:8080'] }, 'such as "https://chat.example.com:8080".'],
    [{ origins: ['localhost:5173'] }, '"origins" has "localhost:5173", which is not an origin.'],
    [{ origins: ['null'] }, '"origins" has "null"'],
    [
      { origins: ['*'] },
      '"origins" has "*", which is not an origin. Write the scheme as well, such as "https://chat.example.com".',
    ],
    [{ origins: 'https://chat.example.com' }, 'the option "origins" must be a list of strings.'],
    [
      { hosts: ['https://chat.example.com'] },
      '"hosts" has "https://chat.example.com", which is not a host name.',
    ],
    [{ hosts: ['chat.example.com:443'] }, '"hosts" has "chat.example.com:443"'],
    [
      { tolsRequiringApproval: [] },
      'createDuologue has no option "tolsRequiringApproval". Did you mean "toolsRequiringApproval"?',
    ],
    [{ colour: 'red' }, 'createDuologue has no option "colour".'],
    [
      { basePath: 'api/chat' },
      'createDuologue: the option "basePath" must be a path that begins with "/", such as "/api/chat".',
    ],
    [{ toString: 1 }, 'createDuologue has no option "toString".'],
    [{ agent: 'teller' }, 'the option "agent" must be an agent, a Workflow or an App of @google/adk.'],
    [{ toolsRequiringApproval: 'pay' }, 'the option "toolsRequiringApproval" must be a list of strings.'],
    [
      { approvalTimeoutMs: -1 },
      'the option "approvalTimeoutMs" must be a number of milliseconds, null for no limit, or an object.',
    ],
    [
      { approvalTimeoutMs: { sse: 'soon' } },
      'an object whose "sse" is a number of milliseconds that is not negative, or null for no limit.',
    ],
    [{ approvalTimeoutMs: { websocket: 1 } }, 'an object without "websocket" (it has sse, bidi).'],
    [{ clientTimeoutMs: '60' }, 'the option "clientTimeoutMs" must be a number of milliseconds'],
    [{ toolTimeoutMs: Number.NaN }, 'the option "toolTimeoutMs" must be a number of milliseconds'],
    [{ driver: 'sse' }, 'the option "driver" must be "live" or "turn".'],
    [{ whenBusy: 'wait' }, 'the option "whenBusy" must be "queue" or "interrupt".'],
    [{ denials: true }, 'the option "denials" must be "tool-output-error" or "tool-output-denied".'],
    [
      { rateLimit: { burst: 1 } },
      'the option "rateLimit" must be false for no limit, or an object with "perMinute".',
    ],
    [
      { toolSignIn: { callbackUrl: 'https://chat.example/sign-in/callback', secret: '' } },
      'an object whose "secret" is a string of at least 16 random characters.',
    ],
    [{ rateLimit: true }, 'the option "rateLimit" must be false for no limit, or an object.'],
    [{ limits: { bytesOfFiles: 1 } }, 'the option "limits" must be an object without "bytesOfFiles"'],
    [{ socketLimits: { idleMs: '1' } }, 'an object whose "idleMs" is a number that is not negative.'],
    [{ budget: { userBytes: -1 } }, 'an object whose "userBytes" is a number that is not negative.'],
    [{ retryPolicy: { retry: 1 } }, 'the option "retryPolicy" must be an object without "retry"'],
    [{ node: {} }, 'the option "node" must be an object with "address".'],
    [{ apiKey: '' }, 'the option "apiKey" must be a string that is not empty.'],
    [{ authenticate: 'user' }, 'the option "authenticate" must be a function.'],
    [
      { logger: () => undefined },
      'the option "logger" must be an object with the functions info, warn and error.',
    ],
    [{ inspect: 'yes' }, 'the option "inspect" must be true or false.'],
    [
      { chatSocket: { path: '/cluster/commands' } },
      'an object whose "path" is a path such as "/ws" that no route has.',
    ],
  ])('are checked: %j', (options, sentence) => {
    expect(() => start(options)).toThrow(sentence);
  });

  it.each([['agent', 'store', 'hub', 'clock', 'live', 'plugins', 'memoryService', 'toolSignIn', 'logger']])(
    'are no Promises: %s and others',
    (...names) => {
      for (const name of names)
        expect(() => start({ [name]: Promise.resolve() })).toThrow(
          `createDuologue: the option "${name}" is a Promise. Did you forget await?`,
        );
    },
  );

  it('must have an agent', () => {
    const sentence =
      'createDuologue: the option "agent" must be an agent, a Workflow or an App of @google/adk.';
    expect(() => createDuologue({} as unknown as DuologueOptions)).toThrow(sentence);
    expect(() => start({ agent: undefined })).toThrow(sentence);
  });

  it.each<[Record<string, unknown>, string]>([
    [{ store: 'data.db' }, 'the option "store" must be a store, such as await openSqliteStore(\'data.db\').'],
    [{ store: {} }, 'with the function createSession.'],
    [
      { store: Object.assign(createMemoryStore(), { findCalls: undefined }) },
      'the option "store" must be a store, such as await openSqliteStore(\'data.db\'), with the function findCalls.',
    ],
    [
      { hub: {} },
      'the option "hub" must be a hub, such as await openRedisHub({ url: \'redis://cache:6379\' }), with the function take.',
    ],
    [{ clock: {} }, 'the option "clock" must be a clock, such as new FakeTime(), with the function now.'],
    [{ clock: { now: Date.now, after: setTimeout } }, 'with the function elapsed.'],
    [
      { plugins: [1] },
      'the option "plugins" must be a list of plugins of @google/adk, such as [new LoggingPlugin()].',
    ],
    [{ plugins: [BasePlugin] }, 'the option "plugins" must be a list of plugins of @google/adk'],
    [{ plugins: new Audit('audit') }, 'the option "plugins" must be a list of plugins of @google/adk'],
    [
      { plugins: [new Audit('audit'), foreign] },
      'the option "plugins" must be a list of plugins of the copy of @google/adk that duologue imports, which "logs" is not (check that "npm ls @google/adk" shows one copy).',
    ],
    [{ live: [] }, 'the option "live" must be a RunConfig of @google/adk, such as { speechConfig }.'],
    [
      { live: { responseModality: ['AUDIO'] } },
      'the option "live" must be an object without "responseModality" (did you mean "responseModalities"?).',
    ],
    [{ live: { responseModalities: 'AUDIO' } }, 'an object whose "responseModalities" is a list of strings.'],
    [{ live: { speechConfig: 'Kore' } }, 'an object whose "speechConfig" is an object.'],
    [{ live: { streamingMode: 'bidi' } }, 'an object whose "streamingMode" is "none" or "sse".'],
    [{ appName: '' }, 'the option "appName" must be a string that is not empty.'],
    [{ node: { address: 'chat-1:3000' } }, 'whose "address" is an address such as "http://chat-1:3000".'],
    [
      { node: { address: 'http://chat-1:3000', leaseMs: 0 } },
      'whose "leaseMs" is a number of milliseconds greater than 0.',
    ],
    [
      { toolSignIn: { callbackUrl: '/sign-in/callback' } },
      'whose "callbackUrl" is an address such as "https://chat.example.com/sign-in/callback".',
    ],
    [{ toolRequest: { headers: [5] } }, 'an object whose "headers" is a list of names of headers.'],
    [{ resumabilityConfig: { isResumabel: true } }, 'must be { isResumable: true }'],
    [{ resumabilityConfig: { isResumable: 'yes' } }, 'must be { isResumable: true }'],
    [{ approvalTimeoutMs: Number.POSITIVE_INFINITY }, 'must be a number of milliseconds, null for no limit'],
    [{ clientTimeoutMs: Number.POSITIVE_INFINITY }, 'that is not negative, or null for no limit.'],
  ])('are checked in depth: %j', (options, sentence) => {
    expect(() => start(options)).toThrow(sentence);
  });

  it('has a store that nodes can share, where it has a node', () => {
    const node = { address: 'http://chat-1:3000' };
    const sentence = 'The option "node" needs a store that several nodes can share';
    expect(() => start({ node })).toThrow(sentence);
    expect(() => start({ node, store: Object.assign(createMemoryStore(), { nodes: {} }) })).toThrow(sentence);
  });

  it('has plugins of one copy of ADK in its App', () => {
    const app = (...plugins: unknown[]) =>
      new App({ name: 'bank', rootAgent: agentWith(payment), plugins: plugins as BasePlugin[] });
    expect(() => start({ agent: app(foreign) })).toThrow(
      'The App "bank" must have a list of plugins of the copy of @google/adk that duologue imports, which "logs" is not',
    );
    expect(start({ agent: app(new Audit('audit')) })).toEqual([]);
  });

  it('may be objects of classes, and fields of a newer ADK', () => {
    expect(
      start({
        store: createMemoryStore(),
        hub: new MemoryHub(new SharedMemory()),
        clock: new FakeTime(),
        plugins: [new Audit('audit')],
        live: {
          responseModalities: ['AUDIO'],
          speechConfig: {},
          maxLlmCalls: 5,
          streamingMode: 'sse',
          quality: 1,
        },
        node: undefined,
        resumabilityConfig: { isResumable: true },
      }),
    ).toEqual([]);
  });

  it('may be undefined, and are checked for nothing else', () => {
    expect(
      start({
        apiKey: undefined,
        origins: ['https://chat.example.com', 'http://localhost:5173/'],
        hosts: ['Chat.Example.com', '[::1]'],
        approvalTimeoutMs: { bidi: null },
        rateLimit: false,
        limits: { files: 1, textLength: undefined },
        retryPolicy: { retries: 0, firstTokenMs: null },
      }),
    ).toEqual([]);
  });

  it('are wanted as an object', () => {
    expect(() => createDuologue(undefined as unknown as DuologueOptions)).toThrow(
      'createDuologue needs an object of options, such as { agent }.',
    );
  });
});
