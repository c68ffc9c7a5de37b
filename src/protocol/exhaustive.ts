/** Marks the end of a switch over a union: the compiler reports the place when the union gets another member. */
export function exhaustive(value: never): never {
  throw new Error(`Unexpected value ${JSON.stringify(value)}.`);
}
