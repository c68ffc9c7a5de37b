/** Stands where a union has no further member: the compiler finds the place when one is added. */
export function exhaustive(value: never): never {
  throw new Error(`Nobody expected ${JSON.stringify(value)}.`);
}
