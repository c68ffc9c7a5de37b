/** A suite of tests needs this of a test runner; the module of vitest has it, and the globals of Jest do. */
export interface TestRunner {
  describe(name: string, body: () => void): void;
  test(name: string, body: () => Promise<void>): void;
  beforeEach(body: () => Promise<unknown>): void;
  afterEach(body: () => Promise<unknown>): void;
  expect: Expect;
}

/** The part of `expect` that the suites use. */
export interface Expect {
  (value: unknown): Matchers & { rejects: { toThrow(expected: unknown): Promise<void> } };
  objectContaining(value: object): unknown;
}

interface Matchers {
  toBe(expected: unknown): void;
  toBeNull(): void;
  toEqual(expected: unknown): void;
  toHaveLength(length: number): void;
  toHaveProperty(name: string): void;
  toMatchObject(expected: object): void;
}

/** The same test for several cases: `%s` in its name stands for the first value of each. */
export function casesWith(test: TestRunner['test']) {
  return <More extends unknown[]>(cases: [what: string, ...more: More][]) =>
    (name: string, body: (...values: [string, ...More]) => Promise<void>): void => {
      for (const values of cases) test(name.replace('%s', values[0]), () => body(...values));
    };
}
