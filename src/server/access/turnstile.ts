/** Lets what one user asks for follow one after the other, so that what others ask for comes in between. */
export class Turnstile {
  private readonly tails = new Map<string, Promise<void>>();

  /** Does the work when everything that the user asked for before is done. */
  pass<T>(user: string, work: () => T | Promise<T>): Promise<T> {
    const before = this.tails.get(user);
    const done = (before ? before.then(nextRound) : Promise.resolve()).then(work);
    const leave = () => {
      if (this.tails.get(user) === tail) this.tails.delete(user);
    };
    const tail: Promise<void> = done.then(leave, leave);
    this.tails.set(user, tail);
    return done;
  }
}

/** Lets the event loop see what else came in. */
function nextRound(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
