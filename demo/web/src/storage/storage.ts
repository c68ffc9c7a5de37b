/** Where the browser keeps something: across visits, or for as long as the tab lives. */
type Place = 'localStorage' | 'sessionStorage';

/** Returns the text stored under a name; null when there is none. */
export function kept(place: Place, name: string): string | null {
  return attempt(() => window[place].getItem(name), null);
}

/** Stores a text. Returns false when the storage is full or denied. */
export function keep(place: Place, name: string, text: string): boolean {
  return attempt(() => {
    window[place].setItem(name, text);
    return true;
  }, false);
}

/** Removes the text stored under a name. */
export function forget(place: Place, name: string): void {
  attempt(() => window[place].removeItem(name), undefined);
}

/** A browser that denies storage throws when the property is read. The page works without storage, but remembers nothing. */
function attempt<T>(use: () => T, otherwise: T): T {
  try {
    return use();
  } catch {
    return otherwise;
  }
}
