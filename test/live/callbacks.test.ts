import { BasePlugin, FunctionTool, LlmAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/adk/index.ts';
import type { Message } from '../../src/protocol/index.ts';
import { createMemoryStore, type DuologueOptions } from '../../src/server/index.ts';
import { harness, say } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import { call, ScriptedModel, type ScriptedTurn, text } from '../support/scripted-model.ts';

const PAID = { paid: true };

/** An agent that pays once, with callbacks. */
function paying(callbacks: Partial<ConstructorParameters<typeof LlmAgent>[0]>, more: ScriptedTurn[] = []) {
  const counts = { paid: 0 };
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    needsApproval: true,
    execute: () => {
      counts.paid++;
      return { ...PAID };
    },
  });
  const model = new ScriptedModel([[call('pay', {}, 'call-1')], [text('Paid.')], ...more]);
  const agent = new LlmAgent({ name: 'assistant', model, tools: [pay], ...callbacks });
  return { agent, model, counts };
}

const DRIVERS = ['live', 'turn'] as const;

describe.each(DRIVERS)('tool callbacks over a socket, driver %s', (driver) => {
  it('[T29a] a callback that adds to every response neither answers the card nor hides it', async () => {
    const { agent, counts } = paying({
      afterToolCallback: ({ response }) => ({ ...response, audited: true }),
    });
    const { connect } = await live([], [], { agent, driver, approvalTimeoutMs: null });
    const socket = await connect();
    socket.say('pay');
    const request = await socket.chunk('tool-approval-request');
    expect(counts.paid).toBe(0);
    socket.send('message', decision(request));
    expect(await socket.chunk('tool-output-available')).toMatchObject({ output: { ...PAID, audited: true } });
    await socket.done();
    expect(counts.paid).toBe(1);
  });

  it('[T29a] a denied call has no response: the after-tool callback is not called', async () => {
    let calls = 0;
    const { agent, counts } = paying({
      afterToolCallback: () => {
        calls++;
        return undefined;
      },
    });
    const { connect } = await live([], [], { agent, driver, approvalTimeoutMs: null });
    const socket = await connect();
    socket.say('pay');
    socket.send('message', decision(await socket.chunk('tool-approval-request'), false));
    await socket.done();
    expect({ calls, ...counts }).toEqual({ calls: 0, paid: 0 });
  });

  it('[T25] [T29] callbacks are called once for a call that waited over a restart, and what they change is kept', async () => {
    const store = Object.assign(createMemoryStore(), { close: async () => undefined });
    const counts = { before: 0, after: 0 };
    const callbacks: Parameters<typeof paying>[0] = {
      beforeToolCallback: ({ context }) => {
        counts.before++;
        context.state.set('limit', 100);
        return undefined;
      },
      afterToolCallback: ({ context, response }) => {
        counts.after++;
        return { ...response, limit: context.state.get('limit') };
      },
    };
    const options: Partial<DuologueOptions> = { store, driver, approvalTimeoutMs: null };
    const first = await live([], [], { ...options, agent: paying(callbacks).agent });
    const before = await first.connect('?session=chat-1');
    before.say('pay');
    const request = await before.chunk('tool-approval-request');
    await first.served.close();

    const again = paying(callbacks);
    await again.model
      .generateContentAsync({ contents: [], config: {}, liveConnectConfig: {}, toolsDict: {} })
      .next();
    const second = await live([], [], { ...options, agent: again.agent });
    const socket = await second.connect('?session=chat-1');
    socket.send('message', decision(request));
    expect(await socket.chunk('tool-output-available')).toMatchObject({ output: { ...PAID, limit: 100 } });
    await socket.done();
    expect({ ...counts, ...again.counts }).toEqual({ before: 1, after: 1, paid: 1 });
    const { messages } = (await (await second.get('/sessions/chat-1')).json()) as { messages: Message[] };
    expect(messages.at(-1)?.parts).toContainEqual(
      expect.objectContaining({ state: 'output-available', output: { ...PAID, limit: 100 } }),
    );
  });

  it('[T29] an interrupt does not wait for the callbacks that see the output of a browser tool', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let begun: () => void = () => undefined;
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const agent = new LlmAgent({
      name: 'assistant',
      model: new ScriptedModel([[call('locate', {}, 'call-1')]]),
      tools: [defineTool({ name: 'locate', description: 'Locates.', runsOn: 'client' })],
      afterToolCallback: async () => {
        begun();
        await held;
        return { late: true };
      },
    });
    const { connect } = await live([], [], { agent, driver });
    const socket = await connect();
    socket.say('where');
    await socket.chunk('tool-input-available');
    socket.send('tool_result', { toolCallId: 'call-1', result: {}, requestId: 'r-1' });
    await isBegun;
    socket.send('interrupt');
    await socket.done();
    release();
    expect(socket.chunks.filter(({ type }) => type.startsWith('tool-output-'))).toEqual([
      { type: 'tool-output-error', toolCallId: 'call-1', errorText: 'Interrupted by the user' },
    ]);
  });
});

describe('tool callbacks over SSE', () => {
  it('[T25a] a value of the before-tool callback is the output in the confirmation dialect, too', async () => {
    const { agent, counts } = paying({ beforeToolCallback: () => ({ cached: true }) });
    const { post } = harness([], [], { agent, confirmations: 'tool' });
    const { chunks } = await post(say('pay'));
    expect(chunks.filter(({ type }) => type.startsWith('tool-'))).toMatchObject([
      { type: 'tool-input-start', toolName: 'pay' },
      { type: 'tool-input-available', toolName: 'pay' },
      { type: 'tool-output-available', output: { cached: true } },
    ]);
    expect(counts.paid).toBe(0);
  });

  it('[T29] a tool that throws has no response, unless a plugin gives one', async () => {
    const seen: unknown[] = [];
    class Repairing extends BasePlugin {
      override async onToolErrorCallback() {
        return { repaired: true };
      }
    }
    const answer = async (plugins: BasePlugin[]) => {
      const fail = new FunctionTool({
        name: 'fail',
        description: 'Fails.',
        execute: () => {
          throw new Error('It broke.');
        },
      });
      const agent = new LlmAgent({
        name: 'assistant',
        model: new ScriptedModel([[call('fail', {}, 'call-1')], [text('Well.')]]),
        tools: [fail],
        afterToolCallback: ({ response }) => {
          seen.push(response);
          return undefined;
        },
      });
      return (await harness([], [], { agent, plugins }).post(say('go'))).chunks;
    };
    expect(await answer([])).toContainEqual(expect.objectContaining({ type: 'tool-output-error' }));
    expect(seen).toEqual([]);
    expect(await answer([new Repairing('repairing')])).toContainEqual(
      expect.objectContaining({ type: 'tool-output-available', output: { repaired: true } }),
    );
    expect(seen).toEqual([{ repaired: true }]);
  });
});
