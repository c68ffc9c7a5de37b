/** Checks a value. Returns null when it is valid, else a description of valid values, such as `a string or a function`. */
export type Check = (value: unknown) => string | null;

/** The check of each option in the type `T`. `npm run options` writes docs/options.md from these checks. */
export type OptionChecks<T> = { readonly [Name in keyof T]-?: Check };

/**
 * Creates a check from a description that names the allowed types and, as JSON, the allowed texts: `a string or a function`, `"queue" or "interrupt"`. A
 * negative number is never valid. For objects see `objectOf`.
 */
export const is =
  (wanted: string): Check =>
  (value) => {
    const type = typeof value;
    const isValid = type !== 'number' || (value as number) >= 0;
    return (isValid && wanted.includes(type)) || (type === 'string' && wanted.includes(JSON.stringify(value)))
      ? null
      : wanted;
  };

/**
 * Creates a check of an object whose values all have one type, such as the headers of a request. A `Headers` object, a `Map` and a Promise have no values of
 * their own, so they are refused.
 */
export const objectOf =
  (type: 'function' | 'string'): Check =>
  (value) =>
    /Object|Module/.test({}.toString.call(value)) &&
    Object.values(value as object).every((one) => typeof one === type)
      ? null
      : `an object of ${type}s`;

/** Creates a check of an object that has a function of this name. */
export const withFunction =
  (name: string): Check =>
  (value) =>
    typeof (value as Record<string, unknown> | null)?.[name] === 'function'
      ? null
      : `an object with the function ${name}`;

/** Throws a `TypeError` that names the first option that is unknown or has an invalid value. `owner` names the function or class in the error text. */
export function checkOptions(owner: string, checks: Readonly<Record<string, Check>>, options: object): void {
  for (const [name, value] of Object.entries(options)) {
    const check = Object.hasOwn(checks, name) && checks[name];
    if (!check) {
      const [near] = nearest(name, Object.keys(checks));
      throw new TypeError(`${owner} has no option "${name}".${near ? ` Did you mean "${near}"?` : ''}`);
    }
    const wanted = value === undefined ? null : check(value);
    if (wanted) throw new TypeError(`${owner}: the option "${name}" must be ${wanted}.`);
  }
}

/** The known names that differ from `name` in only a few letters, nearest first. */
export function nearest(name: string, known: Iterable<string>): string[] {
  const most = Math.max(2, name.length / 3);
  return [...known]
    .map((one) => [distanceOf(name.toLowerCase(), one.toLowerCase()), one] as const)
    .filter(([distance]) => distance <= most)
    .sort(([a], [b]) => a - b)
    .map(([, one]) => one);
}

/** How many letters must be added, removed or replaced to turn one word into the other. */
function distanceOf(a: string, b: string): number {
  let above = [...b, ''].map((_, column) => column);
  for (const letter of a) {
    let left = Number.POSITIVE_INFINITY;
    above = above.map((up, column) => {
      const replaced = (above[column - 1] ?? left) + Number(letter !== b[column - 1]);
      left = Math.min(replaced, up + 1, left + 1);
      return left;
    });
  }
  return above.at(-1) ?? 0;
}
