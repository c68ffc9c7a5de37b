import type { Engine } from '../engine.ts';
import type { Output } from '../output/output.ts';
import { type Joined, type Listener, PAGE, type Place, type Reset } from '../registry/session.ts';
import { recentMessages } from '../store/rules.ts';
import type { OwnedKey } from '../store/store.ts';
import { beginningOf } from './beginning.ts';
import type { Incoming } from './incoming.ts';
import type { Listeners } from './listeners.ts';
import type { Reading } from './reading.ts';
import type { Shell } from './shell.ts';

/** What joining needs from around it. */
export interface JoiningContext {
  key: OwnedKey;
  engine: Engine;
  output: Output;
  shell: Shell;
  listeners: Listeners;
  incoming: Incoming;
  reading: Reading;
}

/** How one comes to listen to a conversation: where they begin, and what they are told first. */
export class Joining {
  private readonly context: JoiningContext;

  constructor(context: JoiningContext) {
    this.context = context;
  }

  async join(listener: Listener, at: Place): Promise<Joined> {
    const { output, shell, listeners, incoming } = this.context;
    incoming.forgetHeard();
    await listeners.join(listener);
    const isLost = at.last !== null && output.log.placeOf(at.last) === null;
    const joined = isLost
      ? await shell.read(async () => this.joinedAt(listener, at, await this.newestPage()))
      : this.joinedAt(listener, at, null);
    // Takes up what another run, or another process, left open.
    if (listeners.has(listener)) shell.push({ type: 'joined' });
    return joined;
  }

  /** The newest messages, and all that are being written or wait for an answer. */
  private async newestPage(): Promise<Reset> {
    const { key, engine, output } = this.context;
    const { messages, older } = await recentMessages(engine.store, key, output.inProgress, PAGE);
    return { messages, ...(older !== null && { older }) };
  }

  /** Where a client that joins now starts; `stored` is the newest page of messages, for a client that cannot resume. */
  private joinedAt(listener: Listener, { last, sound }: Place, stored: Reset | null): Joined {
    const { engine, output, shell, listeners, incoming, reading } = this.context;
    const { machine } = shell;
    return {
      feed: reading.feed,
      ...beginningOf(output, { last, stored, current: machine.current }),
      sounds: listeners.soundsFor(listener, sound),
      info: {
        received: incoming.accepted.map(({ requestId, messageId }) => ({
          requestId,
          ...(messageId === null ? {} : { messageId }),
        })),
        open: machine.waitingAnswers,
        running: machine.running,
        model: engine.senses(),
        floor: listeners.holder,
      },
    };
  }
}
