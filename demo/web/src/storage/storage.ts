/** Where the browser keeps something: across visits, or for as long as the tab lives. */
type Place = 'localStorage' | 'sessionStorage';

/** What was kept under a name; null when there is nothing. */
export function kept(place: Place, name: string): string | null {
  return attempt(() => window[place].getItem(name), null);
}

/** Keeps a text; false when it is not kept: there is no room for it, or none at all. */
export function keep(place: Place, name: string, text: string): boolean {
  return attempt(() => {
    window[place].setItem(name, text);
    return true;
  }, false);
}

/** Keeps nothing under a name any more. */
export function forget(place: Place, name: string): void {
  attempt(() => window[place].removeItem(name), undefined);
}

/** Browsers deny storage to a page by throwing, as soon as it is named. The page works without; it only forgets. */
function attempt<T>(use: () => T, otherwise: T): T {
  try {
    return use();
  } catch {
    return otherwise;
  }
}
