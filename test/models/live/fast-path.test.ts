import { setImmediate as nextRound } from 'node:timers/promises';
import type { LlmRequest, LlmResponse } from '@google/adk';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LiveResponses } from '../../../src/models/live/response-queue.ts';
import { TurnBasedLiveConnection } from '../../../src/models/live/turn-based.ts';
import { call, partial, ScriptedModel, type ScriptedTurn, text } from '../../support/scripted-model.ts';

const request = (): LlmRequest => ({ contents: [], toolsDict: {}, liveConnectConfig: {} });

function shown({ partial: isPartial, content, interrupted, turnComplete }: LlmResponse): string {
  const [part] = content?.parts ?? [];
  if (part) return `${isPartial ? 'partial' : 'whole'} ${part.text ?? part.functionCall?.name}`;
  return interrupted ? 'interrupted' : turnComplete ? 'complete' : '?';
}

/** A connection whose reader takes its time with every response, and the texts of that reader and of the fast path. */
function listen(turns: ScriptedTurn[], takeTime: () => Promise<unknown> = nextRound) {
  const reported: string[] = [];
  const bypassed: string[] = [];
  const connection = new TurnBasedLiveConnection(new ScriptedModel(turns), request(), {
    fastPath: (response) => {
      reported.push(shown(response));
      bypassed.push(shown(response));
      return undefined;
    },
  });
  const read = async () => {
    for await (const response of connection.receive()) {
      await takeTime();
      reported.push(shown(response));
    }
  };
  const ended = read();
  const say = (words: string) => connection.sendContent({ role: 'user', parts: [{ text: words }] });
  const rest = async () => {
    for (let round = 0; round < 30; round++) await nextRound();
  };
  const close = async () => {
    await rest();
    await connection.close();
    await ended;
  };
  return { connection, reported, bypassed, say, rest, close };
}

describe('partial texts of a live connection that go past its reader', () => {
  it('do so while it waits; the whole goes to the reader', async () => {
    const { reported, bypassed, say, close } = listen([[partial('Hel'), partial('lo'), text('Hello')]]);
    await nextRound();
    await say('hi');
    await close();
    expect(reported).toEqual(['partial Hel', 'partial lo', 'whole Hello', 'complete']);
    expect(bypassed).toEqual(['partial Hel', 'partial lo']);
  });

  it('never overtake the end of what was interrupted', async () => {
    const endless: ScriptedTurn = async function* () {
      yield partial('Once ');
      await new Promise(() => undefined);
    };
    const { reported, bypassed, say, rest, close } = listen([endless, [partial('Yes?'), text('Yes?')]]);
    await say('tell');
    await rest();
    await say('wait');
    await close();
    expect(reported).toEqual([
      'partial Once ',
      'whole Once ',
      'interrupted',
      'partial Yes?',
      'whole Yes?',
      'complete',
    ]);
    expect(bypassed).toEqual(['partial Once ']);
  });

  it('never overtake the call that they are about', async () => {
    const model: ScriptedTurn[] = [
      [partial('I look.'), { content: { role: 'model', parts: [{ text: 'I look.' }] } }],
      [call('look', {}, 'c')],
      [partial('Sun.'), text('Sun.')],
    ];
    const { connection, reported, say, rest, close } = listen(model);
    await say('hi');
    await rest();
    await say('look');
    // Answered before the reader is done with the call.
    await nextRound();
    await connection.sendContent({
      role: 'user',
      parts: [{ functionResponse: { id: 'c', name: 'look', response: {} } }],
    });
    await close();
    expect(reported).toEqual([
      'partial I look.',
      'whole I look.',
      'complete',
      'whole look',
      'partial Sun.',
      'whole Sun.',
      'complete',
    ]);
  });

  it('keep the order of all responses, whatever time the reader takes', async () => {
    const steps = fc.array(fc.record({ isPartial: fc.boolean(), pause: fc.nat(3), work: fc.nat(3) }), {
      maxLength: 40,
    });
    const ticks = async (count: number) => {
      for (let tick = 0; tick < count; tick++) await (tick % 2 ? nextRound() : Promise.resolve());
    };
    await fc.assert(
      fc.asyncProperty(steps, async (script) => {
        const responses = new LiveResponses();
        const reported: number[] = [];
        const numberOf = ({ customMetadata }: LlmResponse) => Number(customMetadata?.n);
        const read = async () => {
          for await (const response of responses.read()) {
            const n = numberOf(response);
            await ticks(script[n]?.work ?? 0);
            reported.push(n);
          }
        };
        const ended = read();
        for (const [n, { isPartial, pause }] of script.entries()) {
          await ticks(pause);
          if (isPartial && responses.isAwaited) reported.push(n);
          else responses.push({ customMetadata: { n } });
        }
        responses.close();
        await ended;
        expect(reported).toEqual([...script.keys()]);
      }),
      { numRuns: 200 },
    );
  });

  it('do not go past a reader that has left', async () => {
    const responses = new LiveResponses();
    const reading = responses.read();
    const next = reading.next();
    expect(responses.isAwaited).toBe(true);
    await reading.return();
    expect(responses.isAwaited).toBe(false);
    responses.close();
    expect(await next).toEqual({ done: true, value: undefined });
  });
});
