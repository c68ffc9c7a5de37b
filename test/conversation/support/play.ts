import fc from 'fast-check';
import { anything } from './commands.ts';
import { bringToRest } from './rest.ts';
import { brokenRules } from './rules.ts';
import type { Write } from './watched-store.ts';
import { type Setup, settle, World } from './world.ts';

/** Runs random conversations. One that breaks a rule fails with its transcript. The writes in `failing` may fail. */
export function conversations(
  model: Setup['model'],
  maxCommands: number,
  failing: readonly Write[] = [],
): fc.IAsyncProperty<[Setup, Iterable<fc.AsyncCommand<World, World>>]> {
  const setup: fc.Arbitrary<Setup> = fc.record({
    model: fc.constant(model),
    approvals: fc.constantFrom('sequential', 'parallel'),
    whenBusy: fc.constantFrom('queue', 'interrupt'),
  });
  const commands = fc.commands([anything(failing)], { maxCommands, size: 'max' });
  return fc.asyncProperty(setup, commands, async (given, all) => {
    const world = new World(given);
    await world.join('lost');
    await settle();
    await fc.asyncModelRun(() => ({ model: world, real: world }), all);
    const wrong = await endingWell(world);
    if (wrong.length === 0) return;
    throw new Error([...wrong, '', JSON.stringify(given), String(world.journal)].join('\n'));
  });
}

/** Finishes a conversation, and returns all rule violations. */
async function endingWell(world: World): Promise<string[]> {
  const wrong: string[] = [];
  const rest = async (words: string) => {
    world.journal.add({ kind: 'command', text: words });
    const unrest = await bringToRest(world);
    if (unrest) wrong.push(`[B13] ${unrest}`);
  };
  await rest('everything comes to rest');
  wrong.push(...(await probe(world, rest)));
  wrong.push(...(await brokenRules(world)));
  const shown = async () => JSON.stringify(await world.messages());
  const before = await shown();
  if (!(await world.shutDown())) wrong.push('[B22] the server does not shut down');
  world.start();
  const after = await shown();
  if (before !== after) wrong.push(`[R7] after a restart there is ${after} instead of ${before}`);
  await world.shutDown();
  return wrong;
}

/** The server must answer one more message. */
async function probe(world: World, rest: (words: string) => Promise<void>): Promise<string[]> {
  const from = world.journal.entries.length;
  world.journal.add({ kind: 'command', text: 'the person says one more thing' });
  world.say();
  await rest('it is answered');
  const heard = world.journal.entries
    .slice(from)
    .flatMap((entry) => (entry.kind === 'chunk' ? [entry.chunk] : []));
  const words = heard.some((chunk) => chunk.type === 'text-delta' && chunk.delta.includes('End.'));
  const end = heard.some((chunk) => chunk.type === 'finish' && chunk.finishReason === 'stop');
  return words && end ? [] : ['[B6] the next message gets no answer'];
}
