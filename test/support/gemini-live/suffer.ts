import { chunkIn, converse } from '../../../scripts/fixtures/conversation.ts';
import type { FakeGeminiLive, SetupFault } from './fake-gemini-live.ts';
import type { TurnFault } from './session.ts';

/** The result of a conversation in which the live model had a fault. */
export interface Suffered {
  /** The error that the client got; null when it got the answer all the same. */
  told: string | null;
  /** How often the tool ran. */
  ran: number;
  /** How many ends the turn had. */
  ends: number;
  /** Whether the next message was answered. */
  goesOn: boolean;
}

const WEATHER = { messages: [{ role: 'user', content: 'weather in Tokyo' }] };

/** Asks for the weather while something goes wrong, and then again. */
export async function sufferLive(
  fake: FakeGeminiLive,
  { url, ran }: { url: string; ran: string[] },
  faults: { setup?: SetupFault[]; turn?: (TurnFault | undefined)[] },
): Promise<Suffered> {
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
      told: (chunks.find(({ type }) => type === 'error')?.errorText as string | undefined) ?? null,
      ran: count,
      ends: blocks.filter((block) => block === 'data: [DONE]\n\n').length,
      goesOn:
        next.some((block) => block.includes('"text-delta"')) &&
        !next.some((block) => block.includes('"error"')),
    };
  } finally {
    conversation.close();
  }
}
