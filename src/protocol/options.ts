/** Checks a value. Returns null when it is valid, else a description of valid values, such as `a string or a function`. */
export type Check = (value: unknown) => string | null;

/** The check of each option in the type `T`. `npm run options` writes docs/options.md from these checks. */
export type OptionChecks<T> = { readonly [Name in keyof T]-?: Check };

/**
 * Creates a check from a description that names the allowed types and, as JSON, the allowed values: `a string or a function`,
 * `"queue" or "interrupt"`. A negative number is never valid.
 */
export const is =
  (wanted: string): Check =>
  (value) => {
    const type = value === null ? '' : typeof value;
    const isNamed = type ? wanted.includes(type) : wanted.includes('null');
    const isValid = type === 'number' ? (value as number) >= 0 : !Array.isArray(value);
    return (isNamed && isValid) || (type === 'string' && wanted.includes(JSON.stringify(value)))
      ? null
      : wanted;
  };

/** Throws a `TypeError` that names the first option that is unknown or has an invalid value. `owner` names the function or class in the error text. */
export function checkOptions(owner: string, checks: Readonly<Record<string, Check>>, options: object): void {
  for (const [name, value] of Object.entries(options)) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (!check) {
      const [near] = nearest(name, Object.keys(checks));
      throw new TypeError(`${owner} has no option "${name}".${near ? ` Did you mean "${near}"?` : ''}`);
    }
    const wanted = value === undefined ? null : check(value);
    if (wanted) throw new TypeError(`${owner}: the option "${name}" must be ${wanted}.`);
  }
}

/** The known names that differ from `name` in only a few letters, nearest first, at most three. */
export function nearest(name: string, known: Iterable<string>): string[] {
  const most = Math.max(2, Math.floor(name.length / 3));
  return [...known]
    .map((one) => ({ one, distance: distanceOf(name.toLowerCase(), one.toLowerCase()) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ one }) => one);
}

/** How many letters must be added, removed or replaced to turn one word into the other. */
function distanceOf(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const line = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      line.push(Math.min(replaced, (above[column] ?? 0) + 1, (line[column - 1] ?? 0) + 1));
    }
    above = line;
  }
  return above[b.length] ?? 0;
}
