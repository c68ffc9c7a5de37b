import type { Stage } from './browser.ts';
import type { Relay } from './relay.ts';

/**
 * Performs an action and freezes the server once it has sent the marker text: until `server.goOn()` the server stays in the
 * middle of its answer, however slow the browser is.
 */
export async function haltAt(
  { server, after }: Stage,
  relay: Relay,
  marker: string,
  act: () => Promise<unknown>,
): Promise<void> {
  const isUserText = relay.hold(marker);
  await act();
  await isUserText;
  server.halt();
  after(() => server.goOn());
  relay.release();
}
