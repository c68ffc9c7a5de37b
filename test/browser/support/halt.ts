import type { Stage } from './browser.ts';
import type { Relay } from './relay.ts';

/**
 * Does something that the server answers, and has the server stand still once it has said the marker: until `server.goOn()` it is in the
 * middle of its answer, however slow the browser is.
 */
export async function haltAt(
  { server, after }: Stage,
  relay: Relay,
  marker: string,
  act: () => Promise<unknown>,
): Promise<void> {
  const isSaid = relay.hold(marker);
  await act();
  await isSaid;
  server.halt();
  after(() => server.goOn());
  relay.release();
}
