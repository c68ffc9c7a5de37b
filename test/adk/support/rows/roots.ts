import { App, BasePlugin, type InvocationContext, LlmAgent, type NodeContext, Workflow } from '@google/adk';
import { expect } from 'vitest';
import { ScriptedModel, text } from '../../../support/scripted-model.ts';
import { works } from '../matrix.ts';
import { textOf } from '../talk.ts';

/** What may be the root of a conversation. */
export const ROOTS = [
  works(
    '`Workflow` as the root',
    async (place) => {
      const seen: unknown[] = [];
      const model = new ScriptedModel([[text('Hello Ann.')], [text('Bye.')]]);
      const greeter = new LlmAgent({ name: 'greeter', model });
      const note = (_: NodeContext, input: unknown) => {
        seen.push(input);
        return `noted ${String(input)}`;
      };
      const agent = new Workflow({ name: 'flow', edges: [['START', note, greeter]] });
      const { say } = await place.talk({ agent });
      expect(textOf(await say('Ann'))).toContain('Hello Ann.');
      expect(textOf(await say('Bob'))).toContain('Bye.');
      expect(seen).toEqual(['Ann', 'Bob']);
    },
    'yes, driven turn by turn',
  ),

  works('`App` as the root: name, plugins, agent', async (place) => {
    const seen: string[] = [];
    class Watcher extends BasePlugin {
      override async beforeRunCallback({ invocationContext }: { invocationContext: InvocationContext }) {
        seen.push(invocationContext.session.appName);
        return undefined;
      }
    }
    const rootAgent = new LlmAgent({ name: 'assistant', model: new ScriptedModel([[text('Hi.')]]) });
    const app = new App({ name: 'shop', rootAgent, plugins: [new Watcher('watcher')] });
    const { say } = await place.talk({ agent: app });
    expect(textOf(await say('Hello'))).toBe('Hi.');
    expect(seen).toEqual(['shop']);
  }),
];
