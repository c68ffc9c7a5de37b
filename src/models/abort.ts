/**
 * What a source yields, until the signal aborts: then it ends at once, even when the source ignores the signal and is in the
 * middle of something.
 */
export async function* untilAborted<T>(
  source: AsyncIterable<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T, void> {
  if (!signal) {
    yield* source;
    return;
  }
  const iterator = source[Symbol.asyncIterator]();
  let stop = () => {};
  const onAbort = () => stop();
  signal.addEventListener('abort', onAbort, { once: true });
  let finished = false;
  try {
    while (!signal.aborted) {
      const next = await new Promise<IteratorResult<T> | undefined>((resolve, reject) => {
        stop = () => resolve(undefined);
        iterator.next().then(resolve, reject);
      });
      if (next === undefined || signal.aborted) return;
      if (next.done) {
        finished = true;
        return;
      }
      yield next.value;
    }
  } catch (error) {
    finished = true;
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Not awaited: a generator returns only after what it is waiting for.
    if (!finished) iterator.return?.()?.then(undefined, () => {});
  }
}
