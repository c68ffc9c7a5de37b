import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { BaseLlm, LlmAgent, type LlmRequest, type LlmResponse, LogLevel, setLogLevel } from '@google/adk';
import { z } from 'zod';
import { defineTool } from '../../../src/adk/index.ts';
import { chooseModel, type SpeechOptions, withSpeech } from '../../../src/models/index.ts';
import { serve } from '../../../src/server/adapters/node.ts';
import { createDuologue } from '../../../src/server/index.ts';
import { openPostgresStore } from '../../../src/server/postgres/index.ts';
import { openRedisHub } from '../../../src/server/redis/index.ts';
import { call, text } from '../../support/scripted-model.ts';
import type { NodeSettings } from './nodes.ts';

/**
 * One node of a group: its model counts slowly, pays when it is asked to, or asks the browser where it is. Who speaks to it is answered aloud. Or it has the live model
 * that it is led to, which pays under another name.
 */
const settings = JSON.parse(process.argv[2] ?? '') as NodeSettings;
const { port, aheadMs, liveModel } = settings;
setLogLevel(LogLevel.ERROR);
if (aheadMs !== 0) {
  const ofMachine = Date.now;
  Date.now = () => ofMachine() + aheadMs;
}

class CountingModel extends BaseLlm {
  constructor() {
    super({ model: 'counting' });
  }

  override async *generateContentAsync(
    request: LlmRequest,
    _stream?: boolean,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    const texts = request.contents.at(-1)?.parts?.at(-1);
    if (texts?.functionResponse) {
      yield text(`Result: ${JSON.stringify(texts.functionResponse.response)}`);
      return;
    }
    if (texts?.text === 'pay') {
      yield call('pay', { amount: 50 });
      return;
    }
    if (texts?.text === 'locate') {
      yield call('locate', {});
      return;
    }
    const count = Number(/count (\d+)/.exec(texts?.text ?? '')?.[1] ?? 1);
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
  name: liveModel ? 'process_payment' : 'pay',
  description: 'Pays',
  parameters: z.object({ amount: z.number() }),
  needsApproval: true,
  execute: async ({ amount }, context) => {
    const wallet = Number(context.state.get('user:wallet', 1000)) - amount;
    context.state.set('user:wallet', wallet);
    writeSync(1, `paid ${context.functionCallId}\n`);
    await sleep(settings.payMs);
    return { paid: amount, wallet };
  },
});

const locate = defineTool({
  name: 'locate',
  description: 'Asks the browser where it is',
  parameters: z.object({}),
  runsOn: 'client',
});

/** A voice for tests: the transcript depends on the length of the audio, and each word is spoken as 20 ms of samples with its number. */
const voice: SpeechOptions = {
  async speechToText(sound) {
    let samples = 0;
    for await (const piece of sound) samples += piece.length;
    return `count ${Math.round(samples / 1600)}`;
  },
  async *textToSpeech(sentence) {
    for (const word of sentence.trim().split(' ')) {
      yield new Int16Array(480).fill(Number(word));
      await sleep(20);
    }
  },
};

const model = liveModel ? (await chooseModel(liveModel)).model : withSpeech(new CountingModel(), voice);
const store = await openPostgresStore({
  url: settings.database,
  schema: settings.schema,
  retryForMs: settings.retryForMs,
});
const hub = settings.redis ? await openRedisHub({ url: settings.redis, prefix: settings.schema }) : undefined;
const duologue = createDuologue({
  agent: new LlmAgent({ name: 'assistant', model, tools: [pay, locate] }),
  store,
  ...(hub && { hub }),
  rateLimit: false,
  inspect: true,
  approvalTimeoutMs: settings.approvalTimeoutMs,
  node: { address: `http://127.0.0.1:${port}`, leaseMs: settings.leaseMs, drainMs: settings.drainMs },
});
const served = await serve(duologue, { port, host: '127.0.0.1', quiet: true });
process.on('SIGTERM', () => {
  served.close().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});
writeSync(1, `listening ${served.url}\n`);
