import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'vitest';
import { turns } from '../../server/support/turns.ts';
import { ManualClock } from '../../support/clock.ts';
import { fourTools } from '../../support/demo-tools.ts';
import { decision, live } from '../../support/live.ts';
import { calls, text } from '../../support/scripted-model.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Repeats connecting, approving and disconnecting, and compares the open resources with those after the first rounds. */
export async function connectAndDrop(cycles: number, warmUp: number): Promise<void> {
  const clock = new ManualClock();
  const { payment } = fourTools();
  const play = async function* (request: { contents: { parts?: { functionResponse?: unknown }[] }[] }) {
    if (request.contents.at(-1)?.parts?.[0]?.functionResponse) yield text('Paid.');
    else yield calls({ name: 'process_payment', args: { amount: 1, recipient: 'Alice' } });
  };
  const server = await live([], [payment], { clock, rateLimit: false });
  // Stored sessions stay; the test reuses a few of them, so that growth is a leak and not the store.
  const cycle = async (number: number) => {
    server.model.add(play as never, play as never);
    server.model.requests.length = 0;
    const session = `cycle-${number % 20}`;
    const socket = await server.connect(`?session=${session}`);
    socket.say('pay', `m-${number}`);
    socket.send('message', decision(await socket.chunk('tool-approval-request')));
    if (number % 2 === 0) await socket.done();
    socket.socket.terminate();
    await socket.closed();
    // Half of the clients disconnect in the middle of a turn; the turn finishes by itself.
    await turns(() => server.model.left === 0);
  };
  const rest = async () => {
    for (let i = 0; i < 10; i++) {
      clock.advance(60_000);
      // Lets the work that timers started finish.
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    for (let i = 0; i < 20; i++)
      await server.duologue.fetch(new Request(`http://localhost/sessions/cycle-${i}`, { method: 'DELETE' }));
    collect();
    return {
      heap: process.memoryUsage().heapUsed,
      handles: process.getActiveResourcesInfo().filter((name) => name !== 'Immediate').length,
      sockets: server.duologue.sockets.size,
      timers: clock.pending,
    };
  };
  for (let i = 0; i < warmUp; i++) await cycle(i);
  const before = await rest();
  for (let i = warmUp; i < warmUp + cycles; i++) await cycle(i);
  const after = await rest();
  expect(after.sockets).toBe(0);
  expect(after.timers).toBe(before.timers);
  expect(after.handles).toBeLessThanOrEqual(before.handles + 2);
  expect(after.heap - before.heap).toBeLessThan(8 * 1024 * 1024);
}
