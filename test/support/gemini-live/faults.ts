import { chunkIn, converse } from '../../../scripts/fixtures/conversation.ts';
import type { FakeGeminiLive, SetupFault } from './fake-gemini-live.ts';
import type { TurnFault } from './session.ts';

/** The result of a conversation in which the live model had a fault. */
export interface LiveFaultResult {
  /** The error that the client got; null when it got the answer all the same. */
  errorText: string | null;
  /** How often the tool ran. */
  ran: number;
  /** How many ends the turn had. */
  ends: number;
  /** Whether the next message was answered. */
  nextIsAnswered: boolean;
}

const WEATHER = { messages: [{ role: 'user', content: 'weather in Tokyo' }] };

/** Asks for the weather while the faults happen, and then once more without faults. */
export async function askLiveWithFaults(
  fake: FakeGeminiLive,
  { url, ran }: { url: string; ran: string[] },
  faults: { setup?: SetupFault[]; turn?: (TurnFault | undefined)[] },
): Promise<LiveFaultResult> {
  const before = ran.length;
  fake.setupFaults.push(...(faults.setup ?? []));
  fake.turnFaults.push(...(faults.turn ?? []));
  const conversation = await converse(url, 'bidi');
  try {
    const blocks = await conversation.take({ input: WEATHER });
    const chunks = blocks.map(chunkIn).filter((chunk) => chunk !== null);
    const count = ran.length - before;
    fake.setupFaults.length = 0;
    fake.turnFaults.length = 0;
    const next = await conversation.take({ input: WEATHER });
    return {
      errorText: (chunks.find(({ type }) => type === 'error')?.errorText as string | undefined) ?? null,
      ran: count,
      ends: blocks.filter((block) => block === 'data: [DONE]\n\n').length,
      nextIsAnswered:
        next.some((block) => block.includes('"text-delta"')) &&
        !next.some((block) => block.includes('"error"')),
    };
  } finally {
    conversation.close();
  }
}
