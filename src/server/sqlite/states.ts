import { stateFromJson, toJson } from '../store/json.ts';
import type { SessionRow } from '../store/rows.ts';
import {
  applyDelta,
  hasKeys,
  joinState,
  type ScopedState,
  type StateRecord,
  splitState,
} from '../store/state.ts';
import type { SessionKey } from '../store/store.ts';
import { toText } from '../store/text.ts';
import type { Database } from './database.ts';

/** State of all sessions of an app, of all of a user, and of one. */
export function stateTables(db: Database) {
  const ofApp = db.prepare<{ state: string }>('select state from app_states where app = ?');
  const setOfApp = db.prepare('insert or replace into app_states (app, state) values (?, ?)');
  const ofUser = db.prepare<{ state: string }>('select state from user_states where app = ? and user = ?');
  const setOfUser = db.prepare('insert or replace into user_states (app, user, state) values (?, ?, ?)');
  const setOfSession = db.prepare('update sessions set state = ? where n = ?');

  const appState = (app: string): StateRecord => stateFromJson(ofApp.first(app)?.state ?? '{}');
  const userState = (app: string, user: string): StateRecord =>
    stateFromJson(ofUser.first(app, user)?.state ?? '{}');
  const changeShared = (key: SessionKey, delta: ScopedState): void => {
    const app = toText(key.app);
    const user = toText(key.user);
    if (hasKeys(delta.app)) {
      setOfApp.run(app, toJson(applyDelta(appState(app), delta.app), 'The app state'));
    }
    if (hasKeys(delta.user)) {
      setOfUser.run(app, user, toJson(applyDelta(userState(app, user), delta.user), 'The user state'));
    }
  };

  return {
    /** All that a session sees; `own` is its own state as it is stored. */
    seenBy(key: SessionKey, own: string): StateRecord {
      const app = toText(key.app);
      return joinState({
        app: appState(app),
        user: userState(app, toText(key.user)),
        session: stateFromJson(own),
      });
    },
    changeShared,
    /** Writes what a change says of the app, the user and the session. */
    change(key: SessionKey, session: SessionRow, change: Record<string, unknown>): void {
      const delta = splitState(change);
      changeShared(key, delta);
      if (!hasKeys(delta.session)) return;
      const next = applyDelta(stateFromJson(session.state), delta.session);
      setOfSession.run(toJson(next, 'The session state'), session.n);
    },
  };
}
