import { LlmAgent, LogLevel, setLogLevel } from '@google/adk';
import { z } from 'zod';
import { defineTool } from '../../../src/adk/index.ts';
import { type Served, serve } from '../../../src/server/adapters/node.ts';
import { createDuologue } from '../../../src/server/index.ts';
import type { Store } from '../../../src/server/store/store.ts';
import { call, ScriptedModel, text } from '../../support/scripted-model.ts';

// Tests parse the output of this process.
setLogLevel(LogLevel.ERROR);

/** A server whose model pays when it is asked to, and says the result of a payment. With `hangs`, the message `hang` gets no answer. */
export function payingServer(
  store: Store,
  pay: (amount: number, wallet: number) => unknown,
  hangs = false,
): Promise<Served> {
  const model = new ScriptedModel(
    Array.from(
      { length: 10 },
      () =>
        async function* (request) {
          const texts = request.contents.at(-1)?.parts?.[0];
          if (texts?.functionResponse)
            yield text(`Result: ${JSON.stringify(texts.functionResponse.response)}`);
          else if (texts?.text === 'pay') yield call('pay', { amount: 50 });
          else if (texts?.text === 'hang' && hangs) await new Promise(() => undefined);
          else yield text('Hello.');
        },
    ),
  );
  const tool = defineTool({
    name: 'pay',
    description: 'Pays',
    parameters: z.object({ amount: z.number() }),
    needsApproval: true,
    execute: ({ amount }, context) => {
      const wallet = Number(context.state.get('wallet', 1000)) - amount;
      context.state.set('wallet', wallet);
      return pay(amount, wallet);
    },
  });
  const agent = new LlmAgent({ name: 'assistant', model, tools: [tool] });
  return serve(createDuologue({ agent, store }), { port: 0, host: '127.0.0.1', quiet: true });
}
