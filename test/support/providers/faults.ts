import { LlmAgent } from '@google/adk';
import { chunkIn, converse, type Mode } from '../../../scripts/fixtures/conversation.ts';
import { chooseModel } from '../../../src/models/index.ts';
import type { DuologueOptions } from '../../../src/server/index.ts';
import { fourTools } from '../demo-tools.ts';
import type { FakeProvider, Fault } from './fake-provider.ts';
import { type Provided, provide } from './play.ts';

/** The result of a conversation in which the provider had a fault. */
export interface FaultResult {
  /** The error that the client got; null when it got the answer all the same. */
  errorText: string | null;
  /** The reasons for waiting that the client got. */
  waits: unknown[];
  /** How often the tool ran. */
  ran: number;
  /** Errors of calls. */
  calls: unknown[];
  /** Whether the next message was answered. */
  nextIsAnswered: boolean;
}

const WEATHER = { messages: [{ role: 'user', content: 'weather in Tokyo' }] };

/** A server with one tool on a provider, and what that tool did. */
export async function provideTool(
  fake: FakeProvider,
  options: Partial<DuologueOptions> = {},
): Promise<Provided & { ran: string[] }> {
  const ran: string[] = [];
  const { model } = await chooseModel(fake.environment);
  const agent = new LlmAgent({ name: 'assistant', model, tools: [fourTools(ran).weather] });
  // The fake runs on this machine, so a retry need not wait.
  const provided = await provide(fake, { retryPolicy: { maxWaitMs: 1 }, ...options, agent });
  return { ...provided, ran };
}

/** Asks for the weather while the faults happen, and then once more without faults. */
export async function askWithFaults(
  fake: FakeProvider,
  { url, ran }: { url: string; ran: string[] },
  mode: Mode,
  faults: readonly (Fault | undefined)[],
): Promise<FaultResult> {
  const before = ran.length;
  const conversation = await converse(url, mode);
  try {
    fake.faults.push(...(faults as Fault[]));
    const blocks = await conversation.take({ input: WEATHER });
    const chunks = blocks.map(chunkIn).filter((chunk) => chunk !== null);
    const count = ran.length - before;
    fake.faults.length = 0;
    const next = await conversation.take({ input: WEATHER });
    return {
      errorText: (chunks.find(({ type }) => type === 'error')?.errorText as string | undefined) ?? null,
      waits: chunks.flatMap(({ type, data }) =>
        type === 'data-waiting' ? [(data as { reason: string }).reason] : [],
      ),
      ran: count,
      calls: chunks.flatMap(({ type, errorText }) => (type === 'tool-output-error' ? [errorText] : [])),
      nextIsAnswered:
        next.some((block) => block.includes('"text-delta"')) &&
        !next.some((block) => block.includes('"type":"error"')),
    };
  } finally {
    conversation.close();
  }
}
