import { BaseAgent, type Event, type InvocationContext, LlmAgent, ParallelAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { type Chunk, Grammar, type Message } from '../../src/protocol/index.ts';
import { settle } from '../conversation/support/world.ts';
import { fourTools } from '../support/demo-tools.ts';
import { say } from '../support/harness.ts';
import { live } from '../support/live.ts';
import { calls, partial, ScriptedModel, type ScriptedTurn, text } from '../support/scripted-model.ts';

const OSLO = { id: 'call-w', name: 'get_weather', args: { location: 'Oslo' } };

/** Two agents whose models take turns with every piece of their texts. */
function inParallel(one: ScriptedTurn[], two: ScriptedTurn[]): ParallelAgent {
  const { weather } = fourTools([]);
  const agents = [one, two].map((turns, index) => {
    const name = index === 0 ? 'poet' : 'critic';
    return new LlmAgent({ name, model: new ScriptedModel(turns), tools: index === 0 ? [weather] : [] });
  });
  return new ParallelAgent({ name: 'both', subAgents: agents });
}

const pieces = (...words: string[]) => [...words.map((word) => partial(word)), text(words.join(''))];

/** Has an agent answer one message, and returns the chunks of the answer and the message that was stored. */
const WAYS = {
  async SSE(agent: BaseAgent) {
    const { post, get } = await live([], [], { agent });
    const { chunks } = await post(say('go'));
    return { chunks, stored: await storedIn(await get('/sessions/chat-1')) };
  },
  async 'turn by turn behind a socket'(agent: BaseAgent) {
    const { connect, get } = await live([], [], { agent });
    const socket = await connect('?session=chat-1');
    socket.say('go');
    await socket.done();
    const chunks = socket.chunks.filter(({ type }) => !type.startsWith('data-'));
    return { chunks, stored: await storedIn(await get('/sessions/chat-1')) };
  },
};

async function storedIn(response: Response): Promise<Message | undefined> {
  const { messages } = (await response.json()) as { messages: Message[] };
  return messages.find(({ role }) => role === 'assistant');
}

/** The texts and thoughts of a stored message by the author that their metadata names. */
function texts(message: Message | undefined): Record<string, string[]> {
  const by: Record<string, string[]> = {};
  for (const part of message?.parts ?? []) {
    if (part.type !== 'text' && part.type !== 'reasoning') continue;
    const author = String(part.providerMetadata?.duologue?.author);
    by[author] = [...(by[author] ?? []), `${part.type}: ${part.text}`];
  }
  return by;
}

function wrongIn(chunks: readonly Chunk[], over: string): string[] {
  const grammar = new Grammar(over === 'SSE' ? 'sse' : 'bidi');
  return chunks.flatMap((chunk) => grammar.push(chunk));
}

describe.each(Object.entries(WAYS))('agents that run in parallel: %s', (over, answer) => {
  it('[C17a] write each to a part of its own, which names its author', async () => {
    const agent = inParallel([pieces('Ro', 'ses ', 'are red.')], [pieces('Too ', 'sh', 'ort.')]);
    const { chunks, stored } = await answer(agent);
    expect(texts(stored)).toEqual({ poet: ['text: Roses are red.'], critic: ['text: Too short.'] });
    expect(chunks.filter(({ type }) => type === 'text-start')).toContainEqual({
      type: 'text-start',
      id: expect.any(String),
      providerMetadata: { duologue: { author: 'poet' } },
    });
    expect(wrongIn(chunks, over)).toEqual([]);
  });

  it('[C17] keep thoughts and texts apart, and the text of one goes on while the other calls a tool', async () => {
    const thinking = [partial('Hm', true), partial('m.', true), partial('No', true)];
    const agent = inParallel(
      [[partial('I look. '), calls(OSLO)], pieces('Rain ', 'then ', 'sun.')],
      [
        [
          ...thinking,
          partial('A '),
          partial('long '),
          partial('walk '),
          partial('home.'),
          text('A long walk home.'),
        ],
      ],
    );
    const { chunks, stored } = await answer(agent);
    expect(texts(stored)).toEqual({
      poet: ['text: I look. ', 'text: Rain then sun.'],
      critic: ['reasoning: Hmm.No', 'text: A long walk home.'],
    });
    expect(stored?.parts).toContainEqual(
      expect.objectContaining({ type: 'tool-get_weather', state: 'output-available' }),
    );
    expect(wrongIn(chunks, over)).toEqual([]);
  });

  it('[C17] are distinguished by their names where a branch is missing', async () => {
    const model = (word: string) => new ScriptedModel([pieces(`${word} one `, `${word} two`)]);
    const agents = ['a', 'b'].map((name) => new LlmAgent({ name, model: model(name) }));
    const { stored } = await answer(new Alternating({ name: 'alternating', subAgents: agents }));
    expect(texts(stored)).toEqual({ undefined: ['text: a one a two'], b: ['text: b one b two'] });
  });
});

/** Runs its agents at the same time, as an application may: without branches. */
class Alternating extends BaseAgent {
  override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const runs = this.subAgents.map((agent) => agent.runAsync(context));
    while (runs.length > 0) {
      for (const run of [...runs]) {
        const { done, value } = await run.next();
        if (done) runs.splice(runs.indexOf(run), 1);
        else if (value) yield value;
      }
    }
  }

  // biome-ignore lint/correctness/useYield: ADK wants a generator, and this agent has no live mode.
  override async *runLiveImpl(): AsyncGenerator<Event, void, void> {
    throw new Error('There is no live mode.');
  }
}

describe('an answer of agents in parallel that is stopped', () => {
  it('[C17] keeps what each had written by then', async () => {
    const held: ScriptedTurn = async function* (_request, _stream, signal) {
      yield partial('Half a');
      await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
    };
    const { connect, get } = await live([], [], { agent: inParallel([held], [held]) });
    const socket = await connect('?session=chat-1');
    socket.say('go');
    await socket.chunk('text-delta', 2);
    socket.send('interrupt');
    await socket.done();
    await settle();
    expect(texts(await storedIn(await get('/sessions/chat-1')))).toEqual({
      poet: ['text: Half a'],
      critic: ['text: Half a'],
    });
  });
});

describe.each(['live', 'turn'] as const)('an agent that hands over to another one, driver %s', (driver) => {
  it('[C17a] writes to a part of its own, and the text of the next agent names its author', async () => {
    const moment = [partial('One '), partial('moment.')];
    const handOver = calls({ name: 'transfer_to_agent', args: { agentName: 'cashier' } });
    handOver.content?.parts?.unshift({ text: 'One moment.' });
    const model = new ScriptedModel([[...moment, handOver], pieces('How ', 'much?')]);
    const cashier = new LlmAgent({ name: 'cashier', description: 'Takes payments.', model });
    const agent = new LlmAgent({ name: 'host', model, subAgents: [cashier] });
    const { connect, get } = await live([], [], { agent, driver });
    const socket = await connect('?session=chat-1');
    socket.say('pay');
    await socket.done();
    expect(texts(await storedIn(await get('/sessions/chat-1')))).toEqual({
      undefined: ['text: One moment.'],
      cashier: ['text: How much?'],
    });
  });
});
