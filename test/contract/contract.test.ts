import { describe, it } from 'vitest';
import { hasStockSocket, newestSdks } from '../support/sdks.ts';
import { endsAlike } from './support/alike.ts';
import { scenarios } from './support/scenarios.ts';

describe.each(newestSdks)('the chat of ai %s', (_version, sdk) => {
  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))(
    '[S4] [C11] [W1] ends alike in memory, over SSE with either transport and over a WebSocket, live or turn by turn: %s',
    (_name, scenario) =>
      endsAlike(
        scenario,
        [
          ...(['memory', 'SSE', 'SSE, stock'] as const),
          ...(hasStockSocket(sdk) ? (['stock WebSocket'] as const) : []),
          ...(['WebSocket', 'WebSocket, turn by turn'] as const),
        ],
        sdk,
      ),
  );
});
