import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Fixture } from '../../../scripts/fixtures/capture.ts';
import { chunkIn, converse } from '../../../scripts/fixtures/conversation.ts';
import { normaliser } from '../../../scripts/fixtures/normalise.ts';
import type { Scenario } from '../../../scripts/fixtures/scenarios.ts';
import { chooseModel } from '../../../src/models/index.ts';
import { serve } from '../../../src/server/adapters/node.ts';
import { createDuologue, type DuologueOptions, type Logger } from '../../../src/server/index.ts';
import { demoAgent } from '../../demo/support/agent.ts';
import type { FakeProvider } from './fake-provider.ts';

/** The demo's agent behind a server of ours, with a model that is chosen by the environment alone. */
export interface Provided {
  url: string;
  /** Everything that the server logged. */
  logged: { level: keyof Logger; texts: unknown[] }[];
  close(): Promise<void>;
}

/** Serves the demo's agent on a provider. */
export async function provide(
  fake: FakeProvider,
  options: Partial<DuologueOptions> = {},
  environment: Record<string, string> = fake.environment,
): Promise<Provided> {
  const dataDir = mkdtempSync(join(tmpdir(), 'duologue-weather-'));
  const logged: Provided['logged'] = [];
  const log =
    (level: keyof Logger) =>
    (...texts: unknown[]) =>
      void logged.push({ level, texts });
  const { model } = await chooseModel(environment);
  const duologue = createDuologue({
    agent: demoAgent({ model, dataDir }),
    rateLimit: false,
    logger: { info: log('info'), warn: log('warn'), error: log('error') },
    ...options,
  });
  const served = await serve(duologue, { port: 0, quiet: true });
  return {
    url: served.url,
    logged,
    async close() {
      await served.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Has a scenario's conversation with a server; gives the blocks that came. */
export async function play(
  url: string,
  { mode, input, steps }: Pick<Scenario, 'mode' | 'input' | 'steps'>,
): Promise<string[]> {
  const conversation = await converse(url, mode);
  const normalise = normaliser();
  const blocks: string[] = [];
  try {
    for (const step of [{ input }, ...steps]) blocks.push(...(await conversation.take(step)));
  } finally {
    conversation.close();
  }
  return blocks.map(normalise);
}

/** What a conversation came to, whatever the model's ids, its thoughts and the size of its pieces. */
export function gist(blocks: readonly string[]): object {
  const calls = new Map<unknown, Record<string, unknown>>();
  let text = '';
  for (const block of blocks) {
    const chunk = chunkIn(block);
    if (!chunk) continue;
    const call = calls.get(chunk.toolCallId) ?? {};
    switch (chunk.type) {
      case 'text-delta':
        text += chunk.delta;
        break;
      case 'tool-input-start':
        calls.set(chunk.toolCallId, { tool: chunk.toolName, ...(chunk.toolMetadata as object) });
        break;
      case 'tool-input-available':
        call.input = chunk.input;
        break;
      case 'tool-approval-request':
        call.asked = true;
        break;
      case 'tool-output-available':
        call.output = chunk.output;
        break;
      case 'tool-output-error':
      case 'error':
        call.error = chunk.errorText;
        if (chunk.type === 'error') calls.set('error', call);
        break;
    }
  }
  return {
    calls: [...calls.values()],
    text,
    dones: blocks.filter((block) => block === 'data: [DONE]\n\n').length,
  };
}

/** What the same conversation comes to with the embedded model. */
export function expectedGist({ file }: Scenario): object {
  const path = new URL(`../../../fixtures/frontend/${file}.json`, import.meta.url);
  return gist((JSON.parse(readFileSync(path, 'utf8')) as Fixture).output.rawEvents);
}
