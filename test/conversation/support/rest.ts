import { isWaiting } from './models.ts';
import { settle, type World } from './world.ts';

/** The number of rounds after which the test gives up waiting for rest. */
const MAX_ROUNDS = 80;

/**
 * Finishes all pending work: writes succeed, tools return, the model completes its turns, and calls that wait for the user are
 * answered or time out. Returns the reason when the conversation does not come to rest, else null.
 */
export async function bringToRest(world: World): Promise<string | null> {
  world.store.repair();
  world.model.refusals = 0;
  if (!world.page) await world.join('back');
  let quiet = 0;
  let waits = 0;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    await settle();
    if (await goOn(world, waits)) {
      quiet = 0;
      waits += (await world.openCalls()).length > 0 ? 1 : 0;
    } else if (++quiet > 2) return null;
    // The server retries a failed start of a turn after a second.
    world.pass(quiet > 0 ? 1_000 : 20);
  }
  return 'it does not come to rest';
}

/** Performs the next pending step of model, tools or user; false when nothing is pending. */
async function goOn(world: World, waits: number): Promise<boolean> {
  const { model, bench, page } = world;
  const [running] = bench.running;
  if (running) running.end('returns');
  else if (model.generation) model.complete();
  else if (model.line?.mustStop) model.stop();
  else if (model.line && model.line.owes > 0 && !isWaiting(model.line)) model.complete();
  else {
    const calls = await world.openCalls();
    if (calls.length === 0) return world.posts.some(({ isOver }) => !isOver);
    // Most calls time out; an approval request over SSE has no timeout.
    if (waits < 6) world.pass(31_000);
    else {
      // Answers all open calls; the server rejects answers to those that are still queued.
      for (const { id: toolCallId, status } of calls) {
        const isAsked = status === 'requested';
        page?.send('tool_result', { toolCallId, ...(isAsked ? { status: 'rejected' } : { result: {} }) });
      }
    }
  }
  return true;
}
