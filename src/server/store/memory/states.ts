import { stateFromJson, toJson } from '../json.ts';
import { applyDelta, hasKeys, joinState, type ScopedState, type StateRecord, splitState } from '../state.ts';
import type { SessionKey } from '../store.ts';

/** State of all sessions of an app, and of all of a user; that of one session is kept with it. */
export class States {
  readonly #apps = new Map<string, string>();
  readonly #users = new Map<string, string>();

  /** All that a session sees; `own` is its own state as it is kept. */
  seenBy(key: SessionKey, own: string): StateRecord {
    return joinState(this.#scopesOf(key, own));
  }

  /** Everything that can fail is done before the returned function writes, and returns the session's own state. */
  prepare(key: SessionKey, own: string, change: Record<string, unknown>): () => string {
    const delta = splitState(change);
    const current = this.#scopesOf(key, own);
    const next = {
      app: toJson(applyDelta(current.app, delta.app), 'The app state'),
      user: toJson(applyDelta(current.user, delta.user), 'The user state'),
      session: toJson(applyDelta(current.session, delta.session), 'The session state'),
    };
    return () => {
      if (hasKeys(delta.app)) this.#apps.set(key.app, next.app);
      if (hasKeys(delta.user)) this.#users.set(userName(key.app, key.user), next.user);
      return next.session;
    };
  }

  #scopesOf(key: SessionKey, own: string): ScopedState {
    return {
      app: stateFromJson(this.#apps.get(key.app) ?? '{}'),
      user: stateFromJson(this.#users.get(userName(key.app, key.user)) ?? '{}'),
      session: stateFromJson(own),
    };
  }
}

/** A user of an app as one text. JSON keeps the two apart whatever they contain. */
export function userName(app: string, user: string): string {
  return JSON.stringify([app, user]);
}
