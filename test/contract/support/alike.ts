import { expect } from 'vitest';
import type { Message } from '../../../src/protocol/index.ts';
import { brief } from '../../client/support/chat.ts';
import type { Sdk } from '../../support/sdks.ts';
import { play, type Staging } from './play.ts';
import type { Scenario } from './scenarios.ts';
import type { WayName } from './ways.ts';

function expectedSends({ sends }: Scenario, way: WayName): unknown {
  if (way.startsWith('WebSocket')) return sends.bidi;
  return way.includes('stock') ? sends.stock : sends.sse;
}

/** The SDK stops reading at an error: the metadata of the finish chunk is only stored by the server. */
function withoutEnd(messages: unknown): unknown {
  return (messages as Message[]).map((message) => {
    const { usage: _usage, failed: _failed, ...metadata } = message.metadata ?? {};
    return message.role === 'assistant' ? { ...message, metadata } : message;
  });
}

/** Runs a scenario over each of these transports, and compares the results with the expected ones and with each other. */
export async function endsAlike(
  scenario: Scenario,
  ways: readonly WayName[],
  sdk: Sdk,
  staging?: Staging,
): Promise<void> {
  const ends: unknown[] = [];
  for (const way of ways) {
    const played = await play(scenario, way, sdk, {}, staging);
    const messages = played.messages as Message[];
    expect(brief(messages[1]), way).toEqual(scenario.answer);
    expect(
      { roles: messages.map(({ role }) => role), ran: played.ran, sent: played.sent, left: played.left },
      way,
    ).toEqual({
      roles: ['user', 'assistant'],
      ran: scenario.ran ?? [],
      sent: expectedSends(scenario, way),
      left: 0,
    });
    expect(played.error !== null, way).toBe(scenario.fails === true);
    expect(played.messages, way).toEqual(scenario.fails ? withoutEnd(played.stored) : played.stored);
    ends.push(played.messages);
  }
  for (const [index, end] of ends.entries())
    expect(withoutQueued(end), ways[index]).toEqual(withoutQueued(ends[0]));
}

/** Only where approval requests are sent one after the other does a request say how many follow (T30). */
function withoutQueued(end: unknown): unknown {
  return JSON.parse(JSON.stringify(end).replaceAll(/"descriptor":\{"queued":\d+\},/g, ''));
}
