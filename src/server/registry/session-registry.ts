import { agentToolNames } from '../../adk/for-server.ts';
import { settlesWithin } from '../clock.ts';
import { Conversation } from '../conversation/conversation.ts';
import type { Engine } from '../engine.ts';
import { nameOf } from '../store/rules.ts';
import type { OwnedKey, SessionKey } from '../store/store.ts';
import type { Session } from './session.ts';

/** How long a quiet session stays in memory, with its log, for those who come back. */
const KEEP_MS = 5 * 60_000;
const SWEEP_MS = 60_000;
const DRAIN_MS = 2000;

/** The sessions that live in this process, each once; the rest are in the store. */
export class SessionRegistry {
  private readonly engine: Engine;
  private readonly open = new Map<string, Promise<Conversation>>();
  /** Those of them that are taken up. */
  private readonly here = new Map<string, Conversation>();
  /** Those that are being removed: whoever looks for one waits until it is gone. */
  private readonly removing = new Map<string, Promise<boolean>>();
  /** The same of those that are being handed over. */
  private readonly leaving = new Map<string, Promise<void>>();
  private isClosing = false;
  private cancelSweep: () => void = () => undefined;

  constructor(engine: Engine) {
    this.engine = engine;
    this.sweepLater();
  }

  /** The session, loaded from the store if it is not open here; null when the store has none with this key. */
  async find(key: SessionKey): Promise<Session | null> {
    return this.conversation(key);
  }

  /** Creates a session; returns the existing one when another request created it meanwhile. */
  async create(key: SessionKey): Promise<Session> {
    try {
      await this.engine.sessionService.create(key);
    } catch (error) {
      const session = await this.find(key);
      if (session) return session;
      throw error;
    }
    return this.used(this.load(key, this.engine.owners.areAlone));
  }

  /** Ends what runs and removes the session, but keeps its audit log. False when the store has none with this key. */
  async remove(key: SessionKey): Promise<boolean> {
    const name = nameOf(key);
    await this.gone(name);
    const removal =
      this.removing.get(name) ??
      this.erase(key, this.open.get(name)).finally(() => {
        // Closed for good, removed or not: whoever comes back gets it from the store.
        this.forget(name);
        this.removing.delete(name);
      });
    this.removing.set(name, removal);
    return removal;
  }

  /** The owners of the sessions here. */
  get owned(): OwnedKey[] {
    return [...this.here.values()].map(({ key }) => key);
  }

  /** Another process owns a session. */
  lose(key: OwnedKey): void {
    const conversation = this.here.get(nameOf(key));
    if (conversation?.key.fence === key.fence) conversation.lose();
  }

  /** Lets others have the sessions here, each when the agent is at rest and nobody speaks to it. Resolves when none is left, or after so long. */
  async handOver(withinMs: number): Promise<void> {
    const all = [...this.open].map(([name, loading]) => this.giveAway(name, loading));
    await settlesWithin(Promise.allSettled(all), withinMs, this.engine.clock);
  }

  /** Ends all connections and responses, so that clients reconnect to another process. The sessions stay here until that process takes them over. */
  sendAway(): void {
    for (const conversation of this.here.values()) conversation.sendAway();
  }

  private async giveAway(name: string, loading: Promise<Conversation>): Promise<void> {
    const conversation = await loading;
    while (!conversation.isPaused) await conversation.paused();
    // It was lost, let go of or removed, or it was waited for too long.
    if (this.isClosing || this.open.get(name) !== loading || this.removing.has(name)) return;
    const gone = conversation.handOver().finally(() => {
      this.forget(name);
      this.leaving.delete(name);
    });
    this.leaving.set(name, gone);
    await gone;
  }

  /** Waits briefly for turns that run, interrupts the rest, and closes every session. */
  async close(): Promise<void> {
    this.isClosing = true;
    this.cancelSweep();
    const loaded = await Promise.allSettled(this.open.values());
    const conversations = loaded.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const drained = (drain: (one: Conversation) => Promise<void>) =>
      settlesWithin(Promise.allSettled(conversations.map(drain)), DRAIN_MS, this.engine.clock);
    // Turns that run come to their end, if that is soon.
    await drained((conversation) => conversation.settled());
    // Those that do not are interrupted, and whoever listens hears of it. A tool, or a model, that listens to nobody is not
    // waited for.
    await drained((conversation) => conversation.close());
  }

  private async conversation(key: SessionKey): Promise<Conversation | null> {
    const name = nameOf(key);
    await this.gone(name);
    this.engine.owners.check();
    const loading =
      this.open.get(name) ?? ((await this.engine.store.findSession(key)) ? this.load(key) : null);
    return loading && this.used(loading);
  }

  /** Resolves when a session is neither being removed nor being handed over. Only the caller of a removal gets its error. */
  private async gone(name: string): Promise<void> {
    const going = () => this.removing.get(name) ?? this.leaving.get(name);
    while (going()) await going()?.catch(() => undefined);
  }

  /** Not to be let go between being found and being used. */
  private async used(loading: Promise<Conversation>): Promise<Conversation> {
    const conversation = await loading;
    conversation.touch();
    return conversation;
  }

  /** `isEmpty`: nobody can have written anything to it. */
  private load(key: SessionKey, isEmpty = false): Promise<Conversation> {
    const name = nameOf(key);
    const known = this.open.get(name);
    if (known) return known;
    const forget = () => {
      if (this.open.get(name) === loading) this.forget(name);
    };
    const loading = Conversation.load({ key, isEmpty }, this.engine, forget);
    this.open.set(name, loading);
    loading.then((conversation) => {
      if (this.open.get(name) === loading) this.here.set(name, conversation);
    }, forget);
    return loading;
  }

  private forget(name: string): void {
    this.open.delete(name);
    this.here.delete(name);
  }

  /** Removes a session. If this process has it open, it closes it first; otherwise it loads nothing of it. False when there is no such session. */
  private async erase(key: SessionKey, loading: Promise<Conversation> | undefined): Promise<boolean> {
    const conversation = await loading;
    if (conversation) await conversation.remove();
    else if (!(await this.removeLog(key))) return false;
    const { app, user: userId, id: sessionId } = key;
    const { sessionService, rootAgent } = this.engine;
    for (const appName of [app, ...agentToolNames(rootAgent)]) {
      await sessionService.deleteSession({ appName, userId, sessionId });
    }
    return true;
  }

  /** Becomes the owner of a session that no process has open, and removes its log. False when there is no such session. */
  private async removeLog(key: SessionKey): Promise<boolean> {
    const { owners, logs } = this.engine;
    const owned = await owners.take(key);
    if (owned) (await logs.open(owned)).remove();
    return owned !== null;
  }

  private sweepLater(): void {
    const { clock, logger } = this.engine;
    this.cancelSweep = clock.after(SWEEP_MS, () => {
      this.sweepLater();
      this.sweep().catch((error: unknown) => {
        logger.error('sessions could not be let go', { error: String(error) });
      });
    });
  }

  /** Lets go of sessions that nobody uses. */
  private async sweep(): Promise<void> {
    for (const [name, loading] of this.open) {
      const conversation = await loading.catch(() => null);
      if (conversation && !conversation.isUnusedFor(KEEP_MS)) continue;
      const isUnsaid = await conversation?.isUnsaid();
      // A client connected meanwhile.
      if (conversation && !conversation.isUnusedFor(KEEP_MS)) continue;
      if (conversation && isUnsaid) await this.remove(conversation.key);
      else conversation?.letGo();
      if (this.open.get(name) === loading) this.forget(name);
    }
  }
}
