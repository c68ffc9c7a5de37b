import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/protocol/index.ts';
import { brief, sdks } from '../client/support/chat.ts';
import { play } from './support/play.ts';
import { type Scenario, scenarios } from './support/scenarios.ts';
import type { WayName } from './support/ways.ts';

const WAYS: WayName[] = ['memory', 'SSE', 'SSE, stock', 'WebSocket', 'WebSocket, turn by turn'];

function expectedSends({ sends }: Scenario, way: WayName): unknown {
  if (way.startsWith('WebSocket')) return sends.bidi;
  return way === 'SSE, stock' ? sends.stock : sends.sse;
}

/** The SDK stops reading at an error: what the end of the message says of it is only stored. */
function withoutEnd(messages: unknown): unknown {
  return (messages as Message[]).map((message) => {
    const { usage: _usage, failed: _failed, ...metadata } = message.metadata ?? {};
    return message.role === 'assistant' ? { ...message, metadata } : message;
  });
}

describe.each(sdks.filter(([version]) => version !== '6.0.304'))('the chat of ai %s', (_version, sdk) => {
  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))(
    '[S4] [C11] ends alike in memory, over SSE with either transport and over a WebSocket, live or turn by turn: %s',
    async (_name, scenario) => {
      const ends: unknown[] = [];
      for (const way of WAYS) {
        const played = await play(scenario, way, sdk);
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
      for (const [index, end] of ends.entries()) expect(end, WAYS[index]).toEqual(ends[0]);
    },
  );
});
