const PIECE =
  /\s+|[^\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー、。「」]+\s*|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー、。「」]{1,3}\s*/gu;

/** Cuts a text into the pieces it is spoken in: words, or a few Japanese signs; joined they are the text. */
export function piecesOf(text: string): string[] {
  return text.match(PIECE) ?? [];
}

/** Waits, or returns at once when told to stop or when there is nothing to wait for. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  if (milliseconds <= 0 || signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener('abort', done);
  });
}
