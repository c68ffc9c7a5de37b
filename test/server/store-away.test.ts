import { describe, expect, it } from 'vitest';
import { modelErrorText } from '../../src/server/conversation/state/errors.ts';
import { StoreError, StoreUnavailable } from '../../src/server/index.ts';
import { ManualClock } from '../support/clock.ts';
import { harness, read, say } from '../support/harness.ts';
import { MemoryDatabase } from '../support/memory-nodes.ts';
import { type ScriptedTurn, text } from '../support/scripted-model.ts';
import { settled } from '../support/settled.ts';

const key = { app: 'duologue', user: 'live_user', id: 'chat-1' };
const headers = { 'content-type': 'application/json' };

/** A server whose model says a word, lets the test do something, and says the rest. */
function startServer(meanwhile: () => void) {
  const clock = new ManualClock();
  const store = new MemoryDatabase(clock).open();
  const turn: ScriptedTurn = async function* () {
    yield { ...text('One '), partial: true };
    await settled();
    meanwhile();
    yield { ...text('two.'), partial: true };
    yield text('One two.');
  };
  const server = harness([turn, [text('Three.')]], [], { store, clock });
  const post = () =>
    server.duologue.fetch(
      new Request('http://localhost/stream', { method: 'POST', headers, body: JSON.stringify(say('count')) }),
    );
  return { server, store, clock, post };
}

/** Lets a minute pass, in steps that retries can follow. */
async function aMinute(clock: ManualClock): Promise<void> {
  for (let second = 0; second < 60; second++) {
    clock.advance(1000);
    await settled();
  }
}

describe('a store that is unavailable while an answer is written', () => {
  it.each([
    ['takes nothing', (): boolean => true],
    ['takes events, but no message', (method: string) => method === 'putMessage'],
    ['takes messages, but no event', (method: string) => method === 'appendEvent'],
  ])('and %s for a minute has the whole answer afterwards, and so has the model', async (_, isRefused) => {
    const one = startServer(() => {
      one.store.fail = (method) => (isRefused(method) ? new StoreUnavailable('The store is away.') : null);
    });
    const { server, store, clock, post } = one;
    const reading = post().then(read);
    await aMinute(clock);
    store.fail = null;
    await aMinute(clock);
    const { chunks, dones } = await reading;
    expect(dones).toBe(1);
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' });
    const messages = await store.loadMessages(key);
    expect(
      messages.map(({ parts }) => parts.map((part) => ('text' in part ? part.text : '')).join('')),
    ).toEqual(['count', 'One two.']);
    expect(messages[1]?.metadata).not.toHaveProperty('failed');
    await server.post(say('go on', 'chat-1', 'second'));
    expect(server.model.lastContents.map(({ parts }) => parts?.[0]?.text)).toEqual([
      'count',
      'One two.',
      'go on',
    ]);
  });

  it('fails the answer in words about the store, not about the model, when it will not take the answer at all', async () => {
    const one = startServer(() => {
      const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
      one.store.fail = (method) => (method === 'appendEvent' ? new StoreError('No store.', { cause }) : null);
    });
    const { chunks } = await one.post().then(read);
    expect(chunks).toContainEqual({ type: 'error', errorText: modelErrorText('STORE', '') });
    expect(JSON.stringify(chunks)).not.toContain('provider');
  });
});
