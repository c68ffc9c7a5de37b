import { describe, it } from 'vitest';
import { sdks } from '../client/support/chat.ts';
import { endsAlike } from './support/alike.ts';
import { scenarios } from './support/scenarios.ts';

describe.each(sdks.filter(([version]) => version !== '6.0.304'))('the chat of ai %s', (version, sdk) => {
  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))(
    '[S4] [C11] [W1] ends alike in memory, over SSE with either transport and over a WebSocket, live or turn by turn: %s',
    (_name, scenario) =>
      endsAlike(
        scenario,
        [
          ...(['memory', 'SSE', 'SSE, stock'] as const),
          // Only `ai` 7 has a WebSocket transport of its own.
          ...(version.startsWith('7') ? (['stock WebSocket'] as const) : []),
          ...(['WebSocket', 'WebSocket, turn by turn'] as const),
        ],
        sdk,
      ),
  );
});
