import {
  type BaseTool,
  BaseToolset,
  FunctionTool,
  LlmAgent,
  LogLevel,
  SequentialAgent,
  setLogLevel,
} from '@google/adk';
import { describe, expect, it } from 'vitest';
import { createDuologue, type DuologueOptions } from '../../src/server/index.ts';
import { fourTools } from '../support/demo-tools.ts';
import { ScriptedModel } from '../support/scripted-model.ts';

setLogLevel(LogLevel.ERROR);

const { payment, weather } = fourTools();

const agentWith = (...tools: LlmAgent['tools']) =>
  new LlmAgent({ name: 'teller', model: new ScriptedModel(), tools });

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
