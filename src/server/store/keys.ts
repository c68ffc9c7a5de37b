/** The key of a session. A session belongs to one user of one app; for all other users it does not exist. */
export interface SessionKey {
  app: string;
  user: string;
  id: string;
}

/**
 * The key of a session with the fence of its owner, which every write carries. No other owner has or had the same fence; a session without an owner so far
 * has 0.
 */
export interface OwnedKey extends SessionKey {
  fence: number;
}
