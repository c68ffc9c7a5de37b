import {
  AgentTool,
  BaseLlm,
  type BaseTool,
  BaseToolset,
  FunctionTool,
  LlmAgent,
  LongRunningFunctionTool,
} from '@google/adk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import type { Chunk } from '../../src/protocol/index.ts';
import { modelErrorText } from '../../src/server/conversation/state/errors.ts';
import { createDuologue, createMemoryStore, type DuologueOptions } from '../../src/server/index.ts';
import { answers, approve, deny, output, talk } from '../server/support/answers.ts';
import { fourTools } from '../support/demo-tools.ts';
import { type Harness, harness, type Posted, say, shape } from '../support/harness.ts';
import {
  call,
  calls,
  partial,
  ScriptedModel,
  type ScriptedTurn,
  streamed,
  text,
} from '../support/scripted-model.ts';

type Setup = { log: string[]; made: Harness };

function setup(
  turns: readonly ScriptedTurn[],
  tools: (log: string[]) => BaseTool[],
  options: Partial<DuologueOptions> = {},
): Setup {
  const log: string[] = [];
  return { log, made: harness(turns, tools(log), options) };
}

const native = (log: string[], requireConfirmation: boolean | ((args: { amount: number }) => boolean)) =>
  new FunctionTool({
    name: 'transfer',
    description: 'Moves money',
    parameters: z.object({ amount: z.number() }),
    requireConfirmation: requireConfirmation as never,
    execute: ({ amount }: { amount: number }) => {
      log.push(`transfer ${amount}`);
      return { moved: amount };
    },
  });

/** What the model was shown in its last call, in short. */
function shown(model: ScriptedModel): unknown[] {
  return model.lastContents.map(({ role, parts = [] }) => [
    role,
    ...parts.map((part) =>
      part.functionCall
        ? `call ${part.functionCall.name}`
        : part.functionResponse
          ? part.functionResponse.response
          : part.text,
    ),
  ]);
}

const outputs = ({ chunks }: Posted) =>
  chunks.flatMap((chunk) =>
    chunk.type === 'tool-output-available'
      ? [chunk.output]
      : chunk.type === 'tool-output-error'
        ? [chunk.errorText]
        : [],
  );

const finish = ({ chunks }: Posted) => chunks.at(-1) as Extract<Chunk, { type: 'finish' }>;

describe('calls of one step that are answered at different times', () => {
  it('[T17c] a plain tool beside an asking one keeps its response, in both orders', async () => {
    for (const order of [
      ['get_weather', 'transfer'],
      ['transfer', 'get_weather'],
    ]) {
      const all = order.map((name) =>
        name === 'transfer' ? { name, args: { amount: 5 } } : { name, args: { location: 'Tokyo' } },
      );
      const { made, log } = setup([[calls(...all)], [text('Done.')]], (entries) => [
        fourTools(entries).weather,
        native(entries, true),
      ]);
      const first = await made.post(say('both'));
      expect(outputs(first)).toEqual([{ location: 'Tokyo', temperature: 20 }]);
      expect(finish(first).finishReason).toBe('tool-calls');
      const second = await answers(made, first, approve());
      expect(outputs(second)).toEqual([{ moved: 5 }]);
      expect(log).toEqual(['weather Tokyo', 'transfer 5']);
      expect(shown(made.model)).toEqual([
        ['user', 'both'],
        ['model', ...order.map((name) => `call ${name}`)],
        [
          'user',
          ...order.map((name) =>
            name === 'transfer' ? { moved: 5 } : { location: 'Tokyo', temperature: 20 },
          ),
        ],
      ]);
    }
  });

  it('[S6a] two cards answered one by one: the model is called once, when both are answered', async () => {
    const { made, log } = setup(
      [
        [calls({ name: 'transfer', args: { amount: 1 } }, { name: 'transfer', args: { amount: 2 } })],
        [text('Done.')],
      ],
      (entries) => [native(entries, true)],
    );
    const first = await made.post(say('two'));
    const second = await answers(made, first, approve(1));
    expect(shape(second.chunks)).toEqual(['start', 'tool-output-available', 'finish']);
    expect(finish(second).finishReason).toBe('tool-calls');
    expect(made.model.requests).toHaveLength(1);
    const third = await answers(made, first, deny(0));
    expect(shape(third.chunks)).toEqual([
      'start',
      'tool-output-error',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
    ]);
    expect(log).toEqual(['transfer 2']);
    expect(shown(made.model)).toEqual([
      ['user', 'two'],
      ['model', 'call transfer', 'call transfer'],
      ['user', { error: 'User denied the tool call' }, { moved: 2 }],
    ]);
  });

  it('[T13] an asking tool, a client tool and a plain one in one step', async () => {
    const { made, log } = setup(
      [
        [
          calls(
            { name: 'get_weather', args: { location: 'Oslo' } },
            { name: 'change_bgm', args: { track: 1 } },
            { name: 'transfer', args: { amount: 3 } },
          ),
        ],
        [text('Done.')],
      ],
      (entries) => [fourTools(entries).weather, fourTools(entries).music, native(entries, true)],
    );
    const first = await made.post(say('three'));
    expect(shape(first.chunks)).toEqual([
      'start',
      'tool-input-start',
      'tool-input-available',
      'tool-input-start',
      'tool-input-available',
      'tool-input-start',
      'tool-input-available',
      'tool-approval-request',
      'tool-output-available',
      'finish',
    ]);
    const second = await answers(made, first, output('change_bgm', 'played'), approve());
    expect(outputs(second)).toEqual(['played', { moved: 3 }]);
    expect(log).toEqual(['weather Oslo', 'transfer 3']);
    expect(shown(made.model).at(-1)).toEqual([
      'user',
      { location: 'Oslo', temperature: 20 },
      { result: 'played' },
      { moved: 3 },
    ]);
  });
});

describe("ADK's own ways to ask", () => {
  it('[T3] requireConfirmation: true asks, and the tool runs once it is approved', async () => {
    const { made, log } = setup([[call('transfer', { amount: 7 })], [text('Done.')]], (entries) => [
      native(entries, true),
    ]);
    const first = await made.post(say('go'));
    expect(shape(first.chunks)).toEqual([
      'start',
      'tool-input-start',
      'tool-input-available',
      'tool-approval-request',
      'finish',
    ]);
    expect(first.chunks[2]).toMatchObject({ toolMetadata: { runsOn: 'server', asks: true } });
    expect(log).toEqual([]);
    expect(outputs(await answers(made, first, approve()))).toEqual([{ moved: 7 }]);
    expect(log).toEqual(['transfer 7']);
  });

  it('[T3] a predicate is asked with the arguments', async () => {
    const { made, log } = setup(
      [
        [call('transfer', { amount: 7 })],
        [text('Done.')],
        [call('transfer', { amount: 700 })],
        [text('Done.')],
      ],
      (entries) => [native(entries, ({ amount }) => amount > 100)],
    );
    expect(outputs(await made.post(say('small')))).toEqual([{ moved: 7 }]);
    const large = await made.post(say('large'));
    expect(large.chunks[2]).toMatchObject({ toolMetadata: { asks: true } });
    expect(log).toEqual(['transfer 7']);
    expect(outputs(await answers(made, large, approve()))).toEqual([{ moved: 700 }]);
  });

  it('[T3b] a predicate that throws asks, and does not stand in the way of the approval', async () => {
    const { made, log } = setup([[call('transfer', { amount: 7 })], [text('Done.')]], (entries) => [
      native(entries, () => {
        throw new Error('no idea');
      }),
    ]);
    const first = await made.post(say('go'));
    expect(shape(first.chunks)).toContain('tool-approval-request');
    expect(outputs(await answers(made, first, approve()))).toEqual([{ moved: 7 }]);
    expect(log).toEqual(['transfer 7']);
  });

  it('[T3b] needsApproval that throws asks', async () => {
    const { made } = setup([[call('pay', { amount: 7 })], [text('Done.')]], () => [
      defineTool({
        name: 'pay',
        description: 'Pays',
        parameters: z.object({ amount: z.number() }),
        needsApproval: () => {
          throw new Error('no idea');
        },
        execute: ({ amount }) => ({ paid: amount }),
      }),
    ]);
    const first = await made.post(say('go'));
    expect(outputs(first)).toEqual([]);
    expect(outputs(await answers(made, first, approve()))).toEqual([{ paid: 7 }]);
  });

  it('needsApproval and optimistic see the arguments as the schema reads them', async () => {
    const seen: unknown[] = [];
    const parameters = z.object({ amount: z.number().default(3) });
    const { made } = setup([[calls({ name: 'pay' }, { name: 'show' })], [text('Done.')]], () => [
      defineTool({
        name: 'pay',
        description: 'Pays',
        parameters,
        needsApproval: (args) => {
          seen.push(args);
          return false;
        },
        execute: (args) => args,
      }),
      defineTool({
        name: 'show',
        description: 'Shows',
        parameters,
        runsOn: 'client',
        optimistic: (args) => args,
      }),
    ]);
    expect(outputs(await made.post(say('go')))).toEqual([{ amount: 3 }, { amount: 3 }]);
    expect(seen).toEqual([{ amount: 3 }]);
  });

  it('[T3] a tool that asks inside its own code is asked about, and runs again when approved', async () => {
    const runs: boolean[] = [];
    const { made } = setup([[call('erase')], [text('Done.')]], () => [
      new FunctionTool({
        name: 'erase',
        description: 'Erases',
        execute: (_args: unknown, context) => {
          const confirmed = context?.toolConfirmation?.confirmed === true;
          runs.push(confirmed);
          if (!confirmed) {
            context?.requestConfirmation({ hint: 'Really?' });
            return { status: 'waiting' };
          }
          return { erased: true };
        },
      }),
    ]);
    const first = await made.post(say('erase it'));
    expect(shape(first.chunks)).toEqual([
      'start',
      'tool-input-start',
      'tool-input-available',
      'tool-approval-request',
      'finish',
    ]);
    const second = await answers(made, first, approve());
    expect(outputs(second)).toEqual([{ erased: true }]);
    expect(runs).toEqual([false, true]);
    expect(shown(made.model)).toEqual([
      ['user', 'erase it'],
      ['model', 'call erase'],
      ['user', { erased: true }],
    ]);
  });

  it('[T3a] the option that names the asking tools overrides every definition', async () => {
    const { made, log } = setup(
      [
        [
          calls(
            { name: 'process_payment', args: { amount: 1, recipient: 'A' } },
            { name: 'transfer', args: { amount: 2 } },
            { name: 'get_weather', args: { location: 'Oslo' } },
          ),
        ],
        [text('Done.')],
      ],
      (entries) => [fourTools(entries).payment, native(entries, true), fourTools(entries).weather],
      { toolsRequiringApproval: ['get_weather'] },
    );
    const first = await made.post(say('go'));
    expect(log).toEqual(['pay A 1', 'transfer 2']);
    expect(
      first.chunks.flatMap((chunk) =>
        chunk.type === 'tool-input-available' ? [[chunk.toolName, chunk.toolMetadata?.asks]] : [],
      ),
    ).toEqual([
      ['process_payment', false],
      ['transfer', false],
      ['get_weather', true],
    ]);
    await answers(made, first, approve());
    expect(log).toEqual(['pay A 1', 'transfer 2', 'weather Oslo']);
  });

  it('a long-running tool that returns nothing waits for the client', async () => {
    const { made } = setup([[call('sign')], [text('Signed.')]], (log) => [
      new LongRunningFunctionTool({
        name: 'sign',
        description: 'Asks for a signature',
        execute: () => {
          log.push('started');
          return undefined;
        },
      }),
    ]);
    const first = await made.post(say('sign'));
    expect(first.chunks[2]).toMatchObject({ toolMetadata: { runsOn: 'server', asks: false } });
    expect(finish(first).finishReason).toBe('tool-calls');
    expect(made.model.requests).toHaveLength(1);
    expect(outputs(await answers(made, first, output('sign', { by: 'Hanako' })))).toEqual([{ by: 'Hanako' }]);
    expect(shown(made.model).at(-1)).toEqual(['user', { by: 'Hanako' }]);
  });

  it('a long-running tool that returns something goes on with it', async () => {
    const { made } = setup([[call('sign')], [text('Asked.')]], () => [
      new LongRunningFunctionTool({ name: 'sign', description: 'd', execute: () => ({ ticket: 7 }) }),
    ]);
    expect(outputs(await made.post(say('sign')))).toEqual([{ ticket: 7 }]);
  });

  it('a long-running tool that asks starts after the approval and then waits for the client', async () => {
    const { made, log } = setup([[call('sign')], [text('Signed.')]], (entries) => [
      new LongRunningFunctionTool({
        name: 'sign',
        description: 'd',
        requireConfirmation: true,
        execute: () => {
          entries.push('started');
          return undefined;
        },
      }),
    ]);
    const first = await made.post(say('sign'));
    expect(log).toEqual([]);
    const second = await answers(made, first, approve());
    expect(shape(second.chunks)).toEqual(['start', 'finish']);
    expect(log).toEqual(['started']);
    expect(outputs(await answers(made, first, output('sign', 'yes')))).toEqual(['yes']);
  });
});

describe('what the application hangs around tools', () => {
  it('[T29] callbacks of agent and plugins see a deferred tool run, once', async () => {
    const log: string[] = [];
    const model = new ScriptedModel([[call('process_payment', { amount: 5, recipient: 'A' })], [text('Ok')]]);
    const { payment } = fourTools();
    const agent = new LlmAgent({
      name: 'assistant',
      model,
      tools: [payment],
      beforeToolCallback: ({ tool }) => {
        log.push(`before ${tool.name}`);
        return undefined;
      },
      afterToolCallback: ({ response }) => {
        log.push(`after ${JSON.stringify(response ?? null)}`);
        return response ? { redacted: true } : undefined;
      },
    });
    const duologue = createDuologue({ agent });
    const made = talk(duologue);
    const first = await made.post(say('pay'));
    const second = await answers(made, first, approve());
    expect(log).toEqual([
      'before process_payment',
      'after {"success":true,"recipient":"A","amount":5,"wallet_balance":995}',
    ]);
    expect(outputs(second)).toEqual([{ redacted: true }]);
  });

  it('tools of a toolset are gated like others, also after a pause', async () => {
    const log: string[] = [];
    class Bank extends BaseToolset {
      constructor() {
        super([]);
      }
      override async getTools() {
        return [fourTools(log).payment];
      }
      override async close() {}
    }
    const model = new ScriptedModel([[call('process_payment', { amount: 5, recipient: 'A' })], [text('Ok')]]);
    const made = talk(createDuologue({ agent: new LlmAgent({ name: 'a', model, tools: [new Bank()] }) }));
    const first = await made.post(say('pay'));
    expect(log).toEqual([]);
    await answers(made, first, approve());
    expect(log).toEqual(['pay A 5']);
  });

  it('a toolset that cannot be asked for its tools after a pause ends the call, and the conversation goes on', async () => {
    const log: string[] = [];
    let isDown = false;
    class Bank extends BaseToolset {
      constructor() {
        super([]);
      }
      override async getTools() {
        if (isDown) throw new Error('The bank is closed.');
        return [fourTools(log).payment];
      }
      override async close() {}
    }
    const model = new ScriptedModel([[call('process_payment', { amount: 5, recipient: 'A' })], [text('Ok')]]);
    const made = talk(createDuologue({ agent: new LlmAgent({ name: 'a', model, tools: [new Bank()] }) }));
    const first = await made.post(say('pay'));
    isDown = true;
    const second = await answers(made, first, approve());
    expect(second.chunks.find(({ type }) => type === 'tool-output-error')).toMatchObject({
      errorText: 'The bank is closed.',
    });
    expect({ log, dones: second.dones }).toEqual({ log: [], dones: 1 });
  });

  it('a sub-agent asks, and goes on itself after the answer', async () => {
    const log: string[] = [];
    for (const disallowTransferToParent of [false, true]) {
      const banker = new ScriptedModel([
        [call('process_payment', { amount: 5, recipient: 'A' })],
        [text('Paid.')],
      ]);
      const front = new ScriptedModel([[call('transfer_to_agent', { agentName: 'banker' })]]);
      const made = talk(
        createDuologue({
          agent: new LlmAgent({
            name: 'front',
            model: front,
            subAgents: [
              new LlmAgent({
                name: 'banker',
                description: 'pays',
                model: banker,
                tools: [fourTools(log).payment],
                disallowTransferToParent,
              }),
            ],
          }),
        }),
      );
      const first = await made.post(say('pay'));
      expect(shape(first.chunks)).toEqual([
        'start',
        'tool-input-start',
        'tool-input-available',
        'tool-output-available',
        'tool-input-start',
        'tool-input-available',
        'tool-approval-request',
        'finish',
      ]);
      const second = await answers(made, first, approve());
      expect(outputs(second)).toEqual([{ success: true, recipient: 'A', amount: 5, wallet_balance: 995 }]);
      expect(banker.requests).toHaveLength(2);
      expect(front.requests).toHaveLength(1);
      expect(log.splice(0)).toEqual(['pay A 5']);
    }
  });

  it('[T27] an agent used as a tool waits when a tool inside it asks', async () => {
    const log: string[] = [];
    const inner = new ScriptedModel([
      [call('process_payment', { amount: 5, recipient: 'A' })],
      [text('I paid.')],
    ]);
    const helper = new LlmAgent({
      name: 'helper',
      description: 'd',
      model: inner,
      tools: [fourTools(log).payment],
    });
    const { made } = setup([[call('helper', { request: 'pay' })], [text('It did.')]], () => [
      new AgentTool({ agent: helper }),
    ]);
    const first = await made.post(say('pay'));
    expect(outputs(first)).toEqual([]);
    expect(log).toEqual([]);
    const second = await answers(made, first, approve());
    expect(outputs(second)).toEqual([
      { success: true, recipient: 'A', amount: 5, wallet_balance: 995 },
      'I paid.',
    ]);
    expect(log).toEqual(['pay A 5']);
  });
});

describe('an agent used as a tool', () => {
  it('[S14] leaves nothing of its own conversation behind when the session is deleted', async () => {
    const store = createMemoryStore();
    const helper = new LlmAgent({
      name: 'helper',
      description: 'd',
      model: new ScriptedModel([[text('Secret answer.')]]),
    });
    const { made } = setup(
      [[call('helper', { request: 'secret question' })], [text('Done.')]],
      () => [new AgentTool({ agent: helper })],
      { store },
    );
    await made.post(say('go'));
    const key = { app: 'helper', user: 'live_user', id: 'chat-1' };
    expect((await store.loadSession(key))?.events.length).toBeGreaterThan(0);
    await made.duologue.fetch(new Request('http://localhost/sessions/chat-1', { method: 'DELETE' }));
    expect(await store.loadSession(key)).toBeNull();
  });
});

describe('models that misbehave', () => {
  it('a tool that does not exist is answered with an error, and the model goes on', async () => {
    const { made } = setup([[call('nope', { a: 1 })], [text('Sorry.')]], () => []);
    const posted = await made.post(say('hi'));
    expect(outputs(posted)).toEqual(['There is no tool named "nope".']);
    expect(finish(posted).finishReason).toBe('stop');
  });

  it('[T3] arguments that cannot work are refused before anyone is asked', async () => {
    const { made, log } = setup(
      [[call('process_payment', { amount: -1, recipient: 'A' })], [text('Ok')]],
      (entries) => [fourTools(entries).payment],
    );
    const posted = await made.post(say('pay'));
    expect(shape(posted.chunks)).not.toContain('tool-approval-request');
    expect(outputs(posted)).toEqual([expect.stringMatching(/^amount: /)]);
    expect(log).toEqual([]);
  });

  it('[S7] a blocked prompt is an error the person can read', async () => {
    for (const responses of [[], [{ usageMetadata: { promptTokenCount: 3 } }]]) {
      const { made } = setup([responses], () => []);
      const posted = await made.post(say('bad'));
      expect(posted.status).toBe(200);
      expect(posted.chunks.slice(1)).toMatchObject([
        { type: 'error', errorText: modelErrorText('EMPTY_RESPONSE', '') },
        { type: 'finish', finishReason: 'error' },
      ]);
    }
  });

  it('several final responses of one model call are one', async () => {
    const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 };
    const { made } = setup(
      [
        [
          partial('Look'),
          { ...text('Look'), usageMetadata },
          { ...call('get_weather', { location: 'Oslo' }), usageMetadata },
          { usageMetadata },
        ],
        [{ ...text('Cold.'), usageMetadata }],
      ],
      (log) => [fourTools(log).weather],
    );
    const posted = await made.post(say('weather'));
    expect(shape(posted.chunks)).toEqual([
      'start',
      'text-start',
      'text-delta',
      'text-end',
      'tool-input-start',
      'tool-input-available',
      'tool-output-available',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
    ]);
    expect(finish(posted).messageMetadata?.usage).toMatchObject({ input: 6, output: 8, total: 14 });
  });

  it('[S7] a model that throws ends the response with an error; the next turn works', async () => {
    const { made } = setup([[partial('Half'), new Error('secret sk-12345678')], [text('Fine.')]], () => []);
    const first = await made.post(say('one'));
    expect(first.chunks.slice(1)).toMatchObject([
      { type: 'text-start' },
      { type: 'text-delta', delta: 'Half' },
      { type: 'text-end' },
      { type: 'error', errorText: modelErrorText('UNKNOWN_ERROR', '') },
      { type: 'finish', finishReason: 'error' },
    ]);
    const second = await made.post(say('two'));
    expect(finish(second).finishReason).toBe('stop');
    expect(shown(made.model)).toEqual([
      ['user', 'one'],
      ['model', 'Half'],
      ['user', 'two'],
    ]);
  });

  it('[S7] a rate limit of the model is told as such, without keys', async () => {
    const error = Object.assign(
      new Error('{"error":{"code":429,"message":"Quota of key=AIzaSyA123456 used"}}'),
      {
        status: 429,
      },
    );
    const { made } = setup([[error]], () => []);
    const posted = await made.post(say('hi'));
    expect(posted.chunks[1]).toEqual({
      type: 'error',
      errorText: modelErrorText('429', ''),
    });
  });

  it('a model that never stops calling tools is stopped', { timeout: 240_000 }, async () => {
    let asked = 0;
    class Endless extends BaseLlm {
      override async *generateContentAsync() {
        asked++;
        yield call('get_weather', { location: 'Oslo' });
      }
      override connect(): Promise<never> {
        throw new Error('not live');
      }
    }
    const agent = new LlmAgent({
      name: 'assistant',
      model: new Endless({ model: 'endless' }),
      tools: [fourTools().weather],
    });
    const posted = await talk(createDuologue({ agent })).post(say('loop'));
    expect(posted.chunks.at(-2)).toMatchObject({ type: 'error' });
    expect(finish(posted).finishReason).toBe('error');
    expect(asked).toBe(500);
  });
});

describe('text in pieces', () => {
  it('[S3] streamed text is not repeated by its final response', async () => {
    const { made } = setup([streamed('One ', 'two ', 'three.')], () => []);
    const { chunks } = await made.post(say('count'));
    expect(chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : []))).toEqual([
      'One ',
      'two ',
      'three.',
    ]);
  });
});
