/** Signs from the browser that a connection is worth another try. */
export interface Network {
  isOnline(): boolean;
  /** Calls the listener when the network or the person comes back; the returned function ends that. */
  onReturn(listener: () => void): () => void;
}

/** The browser's own signs; outside a browser there are none, and the network counts as there. */
export const browserNetwork: Network = {
  isOnline: () => !('navigator' in globalThis) || globalThis.navigator.onLine !== false,
  onReturn(listener) {
    if (!('document' in globalThis)) return () => undefined;
    const page = globalThis.document;
    const onVisible = () => {
      if (page.visibilityState === 'visible') listener();
    };
    globalThis.addEventListener('online', listener);
    page.addEventListener('visibilitychange', onVisible);
    return () => {
      globalThis.removeEventListener('online', listener);
      page.removeEventListener('visibilitychange', onVisible);
    };
  },
};
