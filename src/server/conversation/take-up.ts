import type { SessionLog } from '../log/logs.ts';
import { heardIn, messagesIn, restOf } from '../log/take-over.ts';
import { recentMessages } from '../store/recent-messages.ts';
import { cutUnspoken, nothing, type Remains, recover, type TakenUp } from './recover.ts';

/**
 * Takes up what the store and the log have of a session. Where an earlier owner's log goes on, the store gets the words that only the log has, and
 * behind the log stands how everything ended that was begun, so that whoever comes back with a chunk's id misses nothing. A log that does not go
 * together with what is stored is replaced: then everybody begins from what is stored.
 */
export async function takeUp(
  remains: Remains,
  isEmpty: boolean,
): Promise<{ taken: TakenUp; log: SessionLog }> {
  const { key, engine } = remains;
  const { store, logs, logger } = engine;
  const log = await logs.open(key);
  try {
    // A new one, or one that nothing was said in.
    if (log.chunks.last === 0) {
      const taken = isEmpty ? nothing() : await recover(remains);
      if (taken.unspoken) await cutUnspoken(remains, taken.unspoken);
      return { taken, log };
    }
    const named = messagesIn(log.chunks);
    const before = await recentMessages(store, key, named);
    for (const message of heardIn(log.chunks, before.messages)) {
      await store.putMessage(key, message);
    }
    const taken = await recover(remains);
    const { calls, waiting } = taken.recovered;
    const open = new Set(calls.map(({ record }) => record.messageId));
    const awaited = new Set(waiting.flatMap(({ answerId }) => answerId ?? []));
    const stored = await recentMessages(store, key, named);
    const rest = restOf(log.chunks, stored.messages, { open, awaited });
    // After its end: words that clients have are taken back by their own chunk.
    if (taken.unspoken) {
      await cutUnspoken(remains, taken.unspoken);
      rest?.push({ type: 'data-heard', data: taken.unspoken, transient: true });
    }
    if (!rest) {
      logger.warn('a log does not go together with what is stored', { session: key.id });
      return { taken, log: logs.replace(log) };
    }
    for (const chunk of rest) log.chunks.append(chunk);
    return { taken, log };
  } catch (error) {
    log.close();
    throw error;
  }
}
