import { BaseLlm, LlmAgent, type LlmRequest, type LlmResponse } from '@google/adk';
import { defineTool } from 'duologue/adk';
import { createDuologue, type Duologue } from 'duologue/server';
import { z } from 'zod';

/** Where the frameworks mount the server. */
export const BASE_PATH = '/api/chat';

const say = (text: string, partial: boolean): LlmResponse => ({
  content: { role: 'model', parts: [{ text }] },
  partial,
});

const use = (name: string, args: Record<string, unknown>): LlmResponse => ({
  content: { role: 'model', parts: [{ functionCall: { name, args } }] },
  partial: false,
});

/** Calls the tool that the user names, and says its result. `count <name>` streams `One `, and the rest when the test releases it. */
class NamingModel extends BaseLlm {
  readonly #goes: (name: string) => Promise<void>;

  constructor(goes: (name: string) => Promise<void>) {
    super({ model: 'naming' });
    this.#goes = goes;
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const last = contents.at(-1)?.parts?.at(-1);
    const output = last?.functionResponse?.response;
    const [word = '', name = ''] = (last?.text ?? '').split(' ');
    if (output) yield say(`It gave ${JSON.stringify(output)}.`, false);
    else if (word === 'pay') yield use('pay', { amount: 5 });
    else if (word === 'locate') yield use('get_place', {});
    else if (word === 'count') {
      yield say('One ', true);
      await this.#goes(name);
      yield say('two.', true);
      yield say('One two.', false);
    } else {
      yield say('Hel', true);
      yield say('lo.', true);
      yield say('Hello.', false);
    }
  }

  override connect(): never {
    throw new Error('This model is not live.');
  }
}

/** The application that every framework serves: an agent at `BASE_PATH`, and routes of its own beside it. */
export interface FrameworkApp {
  duologue: Duologue;
  /** What the application itself answers at a path; null when it has nothing there. */
  answer(pathname: string): string | null;
}

/** Makes the application. It runs in Node, Bun and Deno, so it imports published entries alone. */
export function frameworkApp(): FrameworkApp {
  const open = new Set<string>();
  const waiting = new Map<string, () => void>();
  const goes = (name: string) =>
    open.has(name) ? Promise.resolve() : new Promise<void>((resolve) => waiting.set(name, resolve));
  const pay = defineTool({
    name: 'pay',
    description: 'Pays an amount.',
    parameters: z.object({ amount: z.number() }),
    needsApproval: true,
    execute: ({ amount }) => ({ paid: amount }),
  });
  const place = defineTool({ name: 'get_place', description: 'Where the user is.', runsOn: 'client' });
  const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const agent = new LlmAgent({
    name: 'assistant',
    model: new NamingModel(goes),
    tools: [pay, place],
  });
  return {
    duologue: createDuologue({ agent, basePath: BASE_PATH, rateLimit: false, logger: silent }),
    answer(pathname) {
      if (pathname === '/hello' || pathname === `${BASE_PATH}/hello`) return 'hello';
      const [, name] = /^\/go\/(.+)$/.exec(pathname) ?? [];
      if (name === undefined) return null;
      open.add(name);
      waiting.get(name)?.();
      return 'gone on';
    },
  };
}
