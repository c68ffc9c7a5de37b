import { isWaiting } from './models.ts';
import { settle, type World } from './world.ts';

/** Rounds after which a conversation that does not come to rest never will. */
const MAX_ROUNDS = 80;

/**
 * Lets everything come to its end: the disk works, tools return, the model says what it owes, and what waits for the person is
 * answered, or runs out of time. Says what kept it from resting, or null.
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
    // What the disk failed to begin is begun again in a second.
    world.pass(quiet > 0 ? 1_000 : 20);
  }
  return 'it does not come to rest';
}

/** Does the next thing that someone owes; false when nobody owes anything. */
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
    // Most run out of time; a card that came over SSE has none.
    if (waits < 6) world.pass(31_000);
    else {
      // Which of them are shown the page knows; those that are not are refused.
      for (const { id: toolCallId, status } of calls) {
        const isAsked = status === 'requested';
        page?.send('tool_result', { toolCallId, ...(isAsked ? { status: 'rejected' } : { result: {} }) });
      }
    }
  }
  return true;
}
