/** The same function of a text, for texts of which a process sees the same few again and again. */
export function memo<T>(find: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    let found = known.get(text);
    if (found === undefined) {
      found = find(text);
      // What a stranger sends must not fill the memory.
      if (known.size > 99) known.clear();
      if (text.length < 99) known.set(text, found);
    }
    return found;
  };
}
