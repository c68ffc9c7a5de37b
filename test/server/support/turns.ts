/** Lets the event loop run until a condition holds; throws after a timeout. */
export async function turns(isSo: () => boolean, limitMs = 60_000): Promise<void> {
  const end = Date.now() + limitMs;
  while (!isSo()) {
    if (Date.now() > end) throw new Error('The condition did not hold in time.');
    await new Promise((resolve) => setImmediate(resolve));
  }
}
