import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import type { Message } from '../../src/protocol/index.ts';
import { serve } from '../../src/server/adapters/node.ts';
import { brief } from '../client/support/chat.ts';
import { type Scenario, scenarios } from '../contract/support/scenarios.ts';
import { fourTools } from '../support/demo-tools.ts';
import { harness } from '../support/harness.ts';
import { calls, type ScriptedTurn, streamed } from '../support/scripted-model.ts';
import { IndependentClient } from './support/independent-client.ts';

const open: { close(): Promise<void> | void }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

/** A server for a scenario, and clients at it. */
async function stage({ turns, tools, options, decisions = {}, outputs = {} }: Partial<Scenario>) {
  const ran: string[] = [];
  const made = harness(turns?.() ?? [], tools?.(ran) ?? [], { approvalTimeoutMs: null, ...options });
  const served = await serve(made.duologue, { port: 0 });
  open.push(served);
  const person: ConstructorParameters<typeof IndependentClient>[0]['person'] = {
    decide: (id: string) => decisions[id] ?? { approved: true },
    run: (name: string) => outputs[name],
  };
  const client = (who = person) => {
    const one = new IndependentClient({ url: served.url, id: 's', person: who });
    open.push({ close: () => one.cut() });
    return one;
  };
  const stored = async () =>
    ((await (await made.get('/sessions/s')).json()) as { messages: Message[] }).messages;
  return { made, ran, client, stored };
}

async function until(condition: () => boolean, what: () => unknown): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`It did not come to that: ${JSON.stringify(what())}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const last = (client: IndependentClient) => brief(client.messages.at(-1) as unknown as Message);

describe('a client that was written from PROTOCOL.md alone', () => {
  it('has at most 150 lines, and nothing of ours in it', () => {
    const text = readFileSync(new URL('./support/independent-client.ts', import.meta.url), 'utf8');
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(150);
    expect([...text.matchAll(/from '(.*)'/g)].map(([, name]) => name)).toEqual(['ws']);
  });

  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))(
    '[B1] [S1] [C11] plays, over BIDI and over SSE: %s',
    async (_name, scenario) => {
      const { text, files = [] } = scenario.says ?? { text: 'go' };
      const parts = [{ type: 'text', text }, ...files];
      for (const wire of ['bidi', 'sse']) {
        const { made, ran, client, stored } = await stage(scenario);
        const one = client();
        if (wire === 'sse') await one.post(parts);
        else {
          one.connect();
          one.say(parts);
        }
        await until(
          () => one.dones > 0 && made.model.left === 0,
          () => one.messages,
        );
        expect(last(one), wire).toEqual(scenario.answer);
        const inOrder = scenario.ranInAnyOrder ? [...ran].sort() : ran;
        expect([inOrder, one.errors], wire).toEqual([scenario.ran ?? [], []]);
        expect(brief((await stored()).at(-1)), wire).toEqual(scenario.answer);
      }
    },
  );

  it('[R6] [B24] [B26] is cut off after any frame, comes back, and ends with the same', async () => {
    const turns = (): ScriptedTurn[] => [
      [calls({ id: 'call-l', name: 'get_location', args: {} })],
      streamed('You ', 'are ', 'there.'),
    ];
    const tools = (log: string[]) => [fourTools(log).location];
    const outputs = { get_location: { latitude: 1 } };
    const answer = [['call-l', 'output-available', true, { latitude: 1 }], 'You are there.'];
    for (let frames = 0, isCut = true; isCut; frames++) {
      const { client, stored } = await stage({ turns, tools, outputs });
      const one = client();
      const read = one['read' as never] as (text: string) => void;
      let left = frames;
      Object.assign(one, {
        read(text: string) {
          read.call(one, text);
          if (left-- !== 0) return;
          one.cut();
          setImmediate(() => one.connect());
        },
      });
      one.connect();
      one.say([{ type: 'text', text: 'where' }]);
      await until(
        () => one.dones > 0,
        () => [frames, one.messages],
      );
      expect([frames, last(one), one.errors]).toEqual([frames, answer, []]);
      expect(brief((await stored()).at(-1))).toEqual(answer);
      isCut = left < 0;
    }
  });

  it('[B30a] [B31] [B32] sees in two places what is done in either, and runs the tools of the browser in one', async () => {
    const turns = (): ScriptedTurn[] => [
      [calls({ id: 'call-l', name: 'get_location', args: {} })],
      streamed('You ', 'are ', 'there.'),
      streamed('And ', 'here.'),
    ];
    const ranIn: string[] = [];
    const { client, stored } = await stage({ turns, tools: (log) => [fourTools(log).location] });
    const [one, other] = ['one', 'other'].map((name) =>
      client({
        decide: () => ({ approved: true }),
        run: () => {
          ranIn.push(name);
          return { latitude: 1 };
        },
      }),
    ) as [IndependentClient, IndependentClient];
    one.connect();
    await until(
      () => one.session.floor !== undefined,
      () => one.session,
    );
    other.connect();
    await until(
      () => other.session.floor !== undefined,
      () => other.session,
    );
    expect(other.session.floor).toBe(one.session.connectionId);
    one.say([{ type: 'text', text: 'where' }]);
    await until(
      () => one.dones + other.dones === 2,
      () => [one.messages, other.messages],
    );
    other.say([{ type: 'text', text: 'and you' }]);
    await until(
      () => one.dones + other.dones === 4,
      () => [one.messages, other.messages],
    );
    const briefly = (messages: unknown[]) => messages.map((message) => brief(message as Message));
    const whole = [
      ['where'],
      [['call-l', 'output-available', true, { latitude: 1 }], 'You are there.'],
      ['and you'],
      ['And here.'],
    ];
    expect([briefly(one.messages), briefly(other.messages), briefly(await stored())]).toEqual([
      whole,
      whole,
      whole,
    ]);
    expect([ranIn, one.session.floor, one.errors, other.errors]).toEqual([
      ['one'],
      other.session.connectionId,
      [],
      [],
    ]);
  });
});
