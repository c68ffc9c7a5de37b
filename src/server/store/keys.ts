/** The key of a session. A session belongs to one user of one app; for all other users it does not exist. */
export interface SessionKey {
  app: string;
  user: string;
  id: string;
}

/**
 * The key of a session with the fence of its owner: a number that grows with each owner of the session, and that every write of the owner carries. The fence
 * is 0 while the session has had no owner.
 */
export interface OwnedKey extends SessionKey {
  fence: number;
}
