import { AgentTool, Context, FunctionTool, InvocationContext, LlmAgent, PluginManager } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ServerTools } from '../../src/adk/for-server.ts';
import { ManualClock } from '../support/clock.ts';
import { ScriptedModel } from '../support/scripted-model.ts';

const agent = new LlmAgent({ name: 'helper', model: new ScriptedModel() });
const agentTool = new AgentTool({ agent });
const plain = new FunctionTool({
  name: 'plain',
  description: 'Plain',
  parameters: z.object({}),
  execute: () => 0,
});

function setUp() {
  const clock = new ManualClock();
  const after = (ms: number, callback: () => void) => clock.after(ms, callback);
  return { clock, tools: new ServerTools({ timeoutMs: 60_000, concurrent: [], after }) };
}

const forEver = () => new Promise<never>(() => undefined);
const microtasks = async () => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

describe('the time of a server tool', () => {
  it('[T24a] is not limited for an agent that is used as a tool', async () => {
    const { clock, tools } = setUp();
    let end: (value: string) => void = () => undefined;
    const run = tools.run(agentTool, undefined, () => new Promise<string>((resolve) => (end = resolve)));
    clock.advance(10 * 60_000);
    end('done');
    expect(await run).toBe('done');
    expect(clock.pending).toBe(0);
  });

  it('[T24] [T22] is limited for an agent too once it was told to stop and does not listen', async () => {
    const { clock, tools } = setUp();
    const stop = new AbortController();
    const run = tools.run(agentTool, stop.signal, forEver);
    clock.advance(10 * 60_000);
    stop.abort();
    clock.advance(60_000);
    await expect(run).rejects.toThrow('helper did not finish in time. The outcome is unknown.');
    expect(clock.pending).toBe(0);
  });

  it('[T24] leaves no timer and no listener behind when the tool ends or fails', async () => {
    const { clock, tools } = setUp();
    const stop = new AbortController();
    expect(await tools.run(plain, stop.signal, async () => 1)).toBe(1);
    await expect(tools.run(plain, stop.signal, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(clock.pending).toBe(0);
  });
});

describe('the slot', () => {
  it('[T22] is not taken by one that was aborted while it waited, and goes to the one behind it', async () => {
    const { tools } = setUp();
    const first = await tools.take(plain, undefined);
    const stop = new AbortController();
    const second = tools.take(plain, stop.signal);
    let third: unknown = 'waits';
    void tools.take(plain, undefined).then((release) => {
      third = release;
    });
    stop.abort();
    expect(await second).toBeNull();
    await microtasks();
    expect(third).toBe('waits');
    first?.();
    await microtasks();
    expect(third).toBeInstanceOf(Function);
  });
});

describe('a tool inside the loop of an agent', () => {
  function contextOf(state: Record<string, unknown>): Context {
    const session = { id: 's', appName: 'app', userId: 'ann', state, events: [], lastUpdateTime: 0 };
    return new Context({
      invocationContext: new InvocationContext({
        invocationId: 'i',
        agent,
        session,
        pluginManager: new PluginManager(),
      }),
      functionCallId: 'call',
    });
  }
  const act = async (own: Context) => {
    own.state.set('count', Number(own.state.get('count')) + 1);
    own.actions.escalate = true;
    own.actions.transferToAgent = 'other';
    own.actions.artifactDelta['a.txt'] = 2;
    own.invocationContext.endInvocation = true;
    return 'done';
  };

  it('[T23] changes state and loop once it has ended well', async () => {
    const context = contextOf({ count: 1 });
    context.actions.skipSummarization = true;
    expect(await setUp().tools.runInLoop(plain, context, act)).toBe('done');
    expect(context.actions).toMatchObject({
      stateDelta: { count: 2 },
      artifactDelta: { 'a.txt': 2 },
      escalate: true,
      transferToAgent: 'other',
      skipSummarization: true,
    });
    expect(context.invocationContext.session.state).toEqual({ count: 2 });
    expect(context.invocationContext.endInvocation).toBe(true);
  });

  it.each([
    ['fails', () => Promise.reject(new Error('no')), 'no'],
    ['is late', forEver, 'plain did not finish in time. The outcome is unknown.'],
  ])('[T23] [T24] changes nothing when it %s', async (_, then, error) => {
    const { clock, tools } = setUp();
    const context = contextOf({ count: 1 });
    const run = tools.runInLoop(plain, context, async (own) => {
      await act(own);
      return then();
    });
    await microtasks();
    clock.advance(60_000);
    await expect(run).rejects.toThrow(error);
    expect(context.actions.stateDelta).toEqual({});
    expect(context.actions.escalate).toBeUndefined();
    expect(context.invocationContext.session.state).toEqual({ count: 1 });
    expect(await tools.take(plain, undefined)).toBeInstanceOf(Function);
  });

  it('[T15] is not started by a process that may not start it, and leaves the slot to the next call', async () => {
    const { clock } = setUp();
    const tools = new ServerTools({
      timeoutMs: 60_000,
      concurrent: [],
      after: (ms, callback) => clock.after(ms, callback),
      start: () => Promise.reject(new Error('Another process owns the session.')),
    });
    let ran = 0;
    const run = tools.runInLoop(plain, contextOf({}), async () => ++ran);
    await expect(run).rejects.toThrow('Another process owns the session.');
    expect(ran).toBe(0);
    expect(await tools.take(plain, undefined)).toBeInstanceOf(Function);
  });
});
