/** Lets the event loop turn until something is so; throws when it never is. */
export async function turns(isSo: () => boolean, limitMs = 60_000): Promise<void> {
  const end = Date.now() + limitMs;
  while (!isSo()) {
    if (Date.now() > end) throw new Error('It never came to pass.');
    await new Promise((resolve) => setImmediate(resolve));
  }
}
