import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { BaseLlm, LlmAgent, type LlmRequest, type LlmResponse, LogLevel, setLogLevel } from '@google/adk';
import { z } from 'zod';
import { defineTool } from '../../../src/adk/index.ts';
import { createDuologue } from '../../../src/server/index.ts';
import { openPostgresStore } from '../../../src/server/postgres/index.ts';
import { serve } from '../../../src/server/use/node.ts';
import { call, text } from '../../support/scripted-model.ts';

/** One node of a group: its model counts slowly, or pays when it is asked to. */
const [database = '', schema = '', port = '0', lease = '2000'] = process.argv.slice(2);
setLogLevel(LogLevel.ERROR);

class CountingModel extends BaseLlm {
  constructor() {
    super({ model: 'counting' });
  }

  override async *generateContentAsync(
    request: LlmRequest,
    _stream?: boolean,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    const said = request.contents.at(-1)?.parts?.at(-1);
    if (said?.functionResponse) {
      yield text(`Result: ${JSON.stringify(said.functionResponse.response)}`);
      return;
    }
    if (said?.text === 'pay') {
      yield call('pay', { amount: 50 });
      return;
    }
    const count = Number(/count (\d+)/.exec(said?.text ?? '')?.[1] ?? 1);
    const words = Array.from({ length: count }, (_, index) => `${index + 1} `);
    for (const word of words) {
      await sleep(20);
      if (signal?.aborted) return;
      yield { ...text(word), partial: true };
    }
    yield text(words.join(''));
  }

  override connect(): never {
    throw new Error('This model is no live one.');
  }
}

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  parameters: z.object({ amount: z.number() }),
  needsApproval: true,
  execute: async ({ amount }, context) => {
    const wallet = Number(context.state.get('user:wallet', 1000)) - amount;
    context.state.set('user:wallet', wallet);
    writeSync(1, 'paid\n');
    await sleep(50);
    return { paid: amount, wallet };
  },
});

const store = await openPostgresStore({ url: database, schema, patienceMs: 30_000 });
const duologue = createDuologue({
  agent: new LlmAgent({ name: 'assistant', model: new CountingModel(), tools: [pay] }),
  store,
  rateLimit: false,
  approvalTimeoutMs: null,
  node: { address: `http://127.0.0.1:${port}`, leaseMs: Number(lease) },
});
const served = await serve(duologue, { port: Number(port), host: '127.0.0.1' });
process.on('SIGTERM', () => {
  served.close().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});
writeSync(1, `listening ${served.url}\n`);
