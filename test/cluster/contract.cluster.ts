import { beforeAll, describe, inject, it } from 'vitest';
import { openRedisHub } from '../../src/server/redis/index.ts';
import { endsAlike } from '../contract/support/alike.ts';
import { scenarios } from '../contract/support/scenarios.ts';
import { type OpenShared, onThreeNodes } from '../contract/support/three-nodes.ts';
import { hasStockSocket, newestSdks } from '../support/sdks.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();

const openShared: OpenShared = async (prefix) => ({
  store: await schema.open(),
  hub: await openRedisHub({ url: inject('redis'), prefix }),
});

beforeAll(() => schema.open().then((store) => store.close()));

describe.each(newestSdks)('the chat of ai %s', (_version, sdk) => {
  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))(
    '[S4] [C11] ends alike over three nodes, every request and connection at another one: %s',
    (_name, scenario) =>
      endsAlike(
        scenario,
        [
          ...(['SSE', 'SSE, stock'] as const),
          ...(hasStockSocket(sdk) ? (['stock WebSocket'] as const) : []),
          ...(['WebSocket', 'WebSocket, turn by turn'] as const),
        ],
        sdk,
        onThreeNodes(openShared),
      ),
  );
});
