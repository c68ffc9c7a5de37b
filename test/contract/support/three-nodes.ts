import { randomUUID } from 'node:crypto';
import { startBalancer } from '../../../scripts/cluster/balancer.ts';
import { freePort } from '../../../scripts/cluster/free-port.ts';
import { serve } from '../../../src/server/adapters/node.ts';
import type { DuologueOptions } from '../../../src/server/index.ts';
import { harness } from '../../support/harness.ts';
import type { ScriptedTurn } from '../../support/scripted-model.ts';
import { closing, optionsFor, type Staging } from './play.ts';

/** More calls of the model than any scenario has. */
const MANY = 20;

/** Whichever node is asked next plays the next turn of a script that all of them share. */
function turnsOf(script: ScriptedTurn[]): ScriptedTurn[] {
  const next: ScriptedTurn = async function* (...asked) {
    const turn = script.shift();
    if (turn === undefined) throw new Error('The script has no more turns.');
    if (typeof turn === 'function') {
      yield* turn(...asked);
      return;
    }
    for (const response of turn) {
      if (asked[2]?.aborted) return;
      if (response instanceof Error) throw response;
      yield structuredClone(response);
    }
  };
  return Array.from({ length: MANY }, () => next);
}

/** Opens what the nodes of a group share, once for each node. */
export type OpenShared = (group: string) => Promise<Pick<DuologueOptions, 'store' | 'hub'>>;

/** Three nodes on one database, behind a balancer that sends every request and every connection to the next of them. */
export const onThreeNodes =
  (open: OpenShared): Staging =>
  async (scenario, way, ran) => {
    // What was played before is still connected: it has another app.
    const appName = `app-${randomUUID()}`;
    const script = [...scenario.turns()];
    const nodes = await Promise.all(
      [1, 2, 3].map(async () => {
        const port = await freePort();
        const { duologue } = harness(turnsOf(script), scenario.tools?.(ran) ?? [], {
          ...optionsFor(scenario, way),
          appName,
          newId: randomUUID,
          ...(await open(appName)),
          node: { address: `http://127.0.0.1:${port}` },
        });
        return { duologue, served: closing(await serve(duologue, { port, host: '127.0.0.1' })) };
      }),
    );
    const [first] = nodes;
    if (!first) throw new Error('There is no node.');
    const { url } = closing(await startBalancer(() => nodes.map(({ served }) => served.port)));
    return {
      url,
      duologue: first.duologue,
      get: (path) => fetch(url + path),
      left: () => script.length,
    };
  };
