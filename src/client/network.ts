/** Signs from the browser that a connection is worth another try. */
export interface Network {
  isOnline(): boolean;
  /** Whether nobody can see the page now. */
  isHidden?(): boolean;
  /** Calls the listener when the person comes back, or the network comes or goes; the returned function ends that. */
  onReturn(listener: () => void): () => void;
}

/** The browser's own signs; outside a browser there are none, and the network counts as there. */
export const browserNetwork: Network = {
  isOnline: () => globalThis.navigator?.onLine !== false,
  isHidden: () => globalThis.document?.visibilityState === 'hidden',
  onReturn(listener) {
    const page: Document | undefined = globalThis.document;
    if (!page) return () => undefined;
    const onVisible = () => {
      if (page.visibilityState === 'visible') listener();
    };
    globalThis.addEventListener('online', listener);
    globalThis.addEventListener('offline', listener);
    page.addEventListener('visibilitychange', onVisible);
    return () => {
      globalThis.removeEventListener('online', listener);
      globalThis.removeEventListener('offline', listener);
      page.removeEventListener('visibilitychange', onVisible);
    };
  },
};
