import { randomUUID } from 'node:crypto';
import {
  AgentTool,
  FunctionNode,
  FunctionTool,
  InMemoryCredentialService,
  LlmAgent,
  Workflow,
} from '@google/adk';
import { expect } from 'vitest';
import type { DuologueOptions } from '../../../../src/server/index.ts';
import { OAuthProvider } from '../../../support/oauth-provider.ts';
import { call, ScriptedModel, text } from '../../../support/scripted-model.ts';
import { type Row, refused, works } from '../matrix.ts';
import { textOf, the } from '../talk.ts';

const toolSignIn = { callbackUrl: 'http://chat.example/sign-in/callback', secret: 'the key of all nodes' };

/** A server whose tool asks for a credential, and says which token it worked with. */
export function asking(
  config: ReturnType<OAuthProvider['config']>,
  used: unknown[] = [],
  { isAfter = false } = {},
): Partial<DuologueOptions> {
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
  const model = new ScriptedModel([
    ...(isAfter ? [] : [[call('read_calendar', {}, 'call-1')]]),
    [text('Three events.')],
  ]);
  return { agent: new LlmAgent({ name: 'assistant', model, tools: [tool] }), toolSignIn };
}

/** A server whose agent asks the agent of another one, as a tool. */
function askingInside(
  { agent: inner }: Partial<DuologueOptions>,
  isAfter: boolean,
): Partial<DuologueOptions> {
  const model = new ScriptedModel([
    ...(isAfter ? [] : [[call('assistant', { request: 'go' }, 'call-0')]]),
    [text('You are free.')],
  ]);
  const tools = [new AgentTool({ agent: inner as LlmAgent })];
  return { agent: new LlmAgent({ name: 'outer', model, tools }), toolSignIn };
}

/** Where an approval request asks the user to sign in. */
function addressIn({ approvalDescriptor }: { approvalDescriptor?: unknown }): string {
  return (approvalDescriptor as { signInUrl: string }).signInUrl;
}

/** What tools ask a provider for, in the name of the user. */
export const CREDENTIALS: Row[] = [
  works(
    '`requestCredential` with OAuth 2 or OpenID Connect: the user signs in at the provider',
    async (place) => {
      const provider = await OAuthProvider.start();
      const used: unknown[] = [];
      const { say, signIn } = await place.talk(asking(provider.config(), used));
      const request = the(await say('go'), 'tool-approval-request');
      const back = await provider.consent(addressIn(request));
      expect(await signIn(back)).toBe('Three events.');
      expect(used).toEqual(provider.tokens);
    },
  ),
  works('the same, with the sign-in completed in another process after a kill', async (place) => {
    const provider = await OAuthProvider.start();
    const used: unknown[] = [];
    const before = await place.talk(asking(provider.config(), used));
    const request = the(await before.say('go'), 'tool-approval-request');
    const back = await provider.consent(addressIn(request));
    const after = await place.afterKill(asking(provider.config(), used, { isAfter: true }));
    expect(await after.signIn(back)).toBe('Three events.');
    expect(used).toEqual(provider.tokens);
  }),
  works(
    '`credentialService`: a saved credential is used in another process, without asking',
    async (place) => {
      const provider = await OAuthProvider.start();
      const used: unknown[] = [];
      const credentialService = new InMemoryCredentialService();
      const server = () => ({ ...asking(provider.config(), used), credentialService });
      const before = await place.talk(server());
      const request = the(await before.say('go'), 'tool-approval-request');
      expect(await before.signIn(await provider.consent(addressIn(request)))).toBe('Three events.');
      const after = await place.afterKill({ ...server(), newId: randomUUID });
      expect(textOf(await after.say('and now?'))).toBe('Three events.');
      expect(used).toEqual([provider.tokens[0], provider.tokens[0]]);
      expect(provider.exchanges).toEqual(['token']);
    },
  ),
  works('`requestCredential` inside an `AgentTool`', async (place) => {
    const provider = await OAuthProvider.start();
    const used: unknown[] = [];
    const { say, signIn } = await place.talk(askingInside(asking(provider.config(), used), false));
    const request = the(await say('go'), 'tool-approval-request');
    const back = await provider.consent(addressIn(request));
    expect(await signIn(back)).toBe('You are free.');
    expect(used).toEqual(provider.tokens);
  }),
  works('a sign-in inside an `AgentTool`, completed in another process after a kill', async (place) => {
    const provider = await OAuthProvider.start();
    const used: unknown[] = [];
    const before = await place.talk(askingInside(asking(provider.config(), used), false));
    const request = the(await before.say('go'), 'tool-approval-request');
    const back = await provider.consent(addressIn(request));
    const options = askingInside(asking(provider.config(), used, { isAfter: true }), true);
    const after = await place.afterKill(options);
    expect(await after.signIn(back)).toBe('You are free.');
    expect(used).toEqual(provider.tokens);
  }),
  refused(
    '`requestCredential` with an API key, HTTP or a service account',
    'refused when called',
    async (place) => {
      const config = { credentialKey: 'k', authScheme: { type: 'apiKey', in: 'header', name: 'x' } };
      const { say } = await place.talk(asking(config as never));
      const { errorText } = the(await say('go'), 'tool-output-error');
      expect(errorText).toContain('Only oauth2 and openIdConnect with an authorization code are supported');
    },
  ),
  refused('`authConfig` of a `FunctionNode`', 'refused at start', async (place) => {
    const provider = await OAuthProvider.start();
    const node = new FunctionNode('read', () => 'done', { authConfig: provider.config() });
    const agent = new Workflow({ name: 'flow', edges: [['START', node]] });
    await expect(place.talk({ agent })).rejects.toThrow(
      'The node "read" of the workflow "flow" has authConfig, and a node cannot wait for a sign-in.',
    );
  }),
];
