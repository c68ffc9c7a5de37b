import fc from 'fast-check';
import { expect, it } from 'vitest';
import { machines } from './bare/play.ts';
import { World } from './bare/world.ts';

/** The same every time: what nobody has tried belongs to a hunt, not to a check. */
const SEEDS = [1, 2, 3];

it.each(SEEDS)(
  '[B6] [B13] [B14] [C6] [C7] [C9] [T10] [T12] [T22] the machine alone keeps the rules, whatever happens to it, from seed %s',
  { timeout: 120_000 },
  (seed) => {
    fc.assert(machines(120), { numRuns: 400, seed });
  },
);

it('[T18] a call of another message that ends with an interrupted response is told', () => {
  const world = new World({ approvals: 'sequential', whenBusy: 'queue', isEager: true });
  world.push({ type: 'joined' });
  world.say('bidi');
  const [run] = world.runs;
  if (!run) throw new Error('No run was opened.');
  world.call(run, ['pay']);
  run.defer();
  run.complete();
  world.say('bidi');
  world.call(run, ['play']);
  run.defer();
  const [[toolCallId, { approvalId }] = ['', {}]] = world.ears.calls;
  world.answer('sse', [
    { kind: 'decision', toolCallId, approved: true, ...(approvalId === undefined ? {} : { approvalId }) },
  ]);
  run.end(null);
  world.interrupt();
  expect(world.tools).toEqual([toolCallId]);
  expect([...world.ears.wrong, ...world.ears.atRest()]).toEqual([]);
  expect(world.ears.chunks.filter(({ type }) => type === 'data-settled')).toHaveLength(1);
});
