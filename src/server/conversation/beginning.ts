import { type Chunk, formatChunkId } from '../../protocol/index.ts';
import { decidedIn, type Output } from '../output/output.ts';
import type { Joined, Reset } from '../registry/session.ts';

/** Where a client that joins now and has every chunk up to `last` starts; `stored` is the newest page, for a client that cannot resume there. */
export function beginningOf(
  output: Output,
  { last, stored, current }: { last: string | null; stored: Reset | null; current: string | null },
): Pick<Joined, 'from' | 'resumed' | 'newest' | 'reset' | 'opening' | 'omitted'> {
  const { log } = output;
  const place = last === null ? null : log.placeOf(last);
  const resumed = place !== null;
  const start = current === null ? null : output.startOf(current);
  const from = place ?? (start === null || stored ? log.last : start - 1);
  return {
    from,
    resumed,
    newest: formatChunkId({ epoch: log.epoch, seq: log.last }),
    // Everything stands there as it is now, and what is being said goes on behind it.
    reset: stored && { ...stored, messages: output.asNow(stored.messages) },
    // What follows may belong to a message whose `start` is not told again.
    opening: stored || (!resumed && start === null) ? openingOf(output) : [],
    omitted: resumed || stored || current === null ? [] : decidedCards(output, current),
  };
}

/** A card that was decided is not shown again: no chunk could take the decision along. */
export function decidedCards(output: Output, messageId: string): string[] {
  return decidedIn(output.fold(messageId)?.message ?? null);
}

/** Opens the message in progress again, with all that was said of its open blocks. */
function openingOf(output: Output): Chunk[] {
  const { message } = output;
  return [...(message ? [{ type: 'start' as const, messageId: message.id }] : []), ...output.openBlocks()];
}
