import { afterEach, expect } from 'vitest';

/** Fails every test of a file during which a rejection had nobody to hear it. */
export function failOnUnhandled(): void {
  const rejections: unknown[] = [];
  process.on('unhandledRejection', (reason) => rejections.push(reason));
  afterEach(async () => {
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(rejections.splice(0)).toEqual([]);
  });
}
