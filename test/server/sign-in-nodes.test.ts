import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { FunctionTool, LlmAgent } from '@google/adk';
import { expect, it, onTestFinished } from 'vitest';
import { nodeListener } from '../../src/server/adapters/node.ts';
import type { Duologue, DuologueOptions } from '../../src/server/index.ts';
import { ManualClock } from '../support/clock.ts';
import { harness, say } from '../support/harness.ts';
import { MemoryDatabase } from '../support/memory-nodes.ts';
import { OAuthProvider } from '../support/oauth-provider.ts';
import { call, ScriptedModel, text } from '../support/scripted-model.ts';

/** A server whose tool asks for a credential of the provider. It counts the tokens with which the tool worked. */
function calendar(provider: OAuthProvider, used: string[], more: Partial<DuologueOptions>) {
  const config = provider.config();
  const tool = new FunctionTool({
    name: 'read_calendar',
    description: 'Reads the calendar.',
    execute: (_args, context) => {
      const token = context?.getAuthResponse(config)?.oauth2?.accessToken;
      if (token === undefined) context?.requestCredential(config);
      else used.push(token);
      return { events: 3 };
    },
  });
  const model = new ScriptedModel([[call('read_calendar', {}, 'call-1')], [text('Three events.')]]);
  const server = harness([], [], {
    agent: new LlmAgent({ name: 'assistant', model, tools: [tool] }),
    toolSignIn: { callbackUrl: 'http://chat.example/sign-in/callback', secret: 'the key of all nodes' },
    ...more,
  });
  onTestFinished(() => server.duologue.close());
  return server;
}

/** Two nodes on one store; the first becomes the owner of the session. */
async function twoNodes(provider: OAuthProvider, used: string[]) {
  const clock = new ManualClock();
  const database = new MemoryDatabase(clock);
  const start = async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const node = { address: `http://127.0.0.1:${port}`, drainMs: 0 };
    const started = calendar(provider, used, { clock, store: database.open(), node });
    server.on('request', nodeListener(started.duologue));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return started;
  };
  return [await start(), await start()] as const;
}

/** Posts what the page of the callback posts. */
async function comeBack(duologue: Duologue, { searchParams }: URL): Promise<[number, string | undefined]> {
  const answer = await duologue.fetch(
    new Request('http://localhost/sign-in/callback', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(Object.fromEntries(searchParams)),
    }),
  );
  const { message, error } = (await answer.json()) as { message?: string; error?: { code: string } };
  return [answer.status, error?.code ?? message];
}

it.each(['one node', 'two nodes'])(
  '[T36h] of two callbacks of a sign-in at the same time, on %s, one completes it and the other finds it over',
  async (nodes) => {
    const provider = await OAuthProvider.start();
    const used: string[] = [];
    const one = () => calendar(provider, used, {});
    const [owner, other = owner] = nodes === 'one node' ? [one()] : await twoNodes(provider, used);
    const { chunks } = await owner.post(say('What is on?'));
    const request = chunks.find(({ type }) => type === 'tool-approval-request');
    const { signInUrl } = (request as { approvalDescriptor: { signInUrl: string } }).approvalDescriptor;
    const back = await provider.consent(signInUrl);
    const both = [comeBack(owner.duologue, back), comeBack(other.duologue, back)];
    const over = [409, 'answer_refused'];
    expect((await Promise.all(both)).toSorted(([one], [two]) => one - two)).toEqual([
      [200, 'You are signed in.'],
      over,
    ]);
    expect(await comeBack(other.duologue, back)).toEqual(over);
    while (used.length === 0) await setImmediate();
    expect([used, provider.exchanges]).toEqual([provider.tokens, ['token']]);
  },
);
