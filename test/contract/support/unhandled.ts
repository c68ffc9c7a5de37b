import { afterAll, afterEach, beforeAll, expect } from 'vitest';

/** Fails every test of a file during which a promise rejection was unhandled. */
export function failOnUnhandled(): void {
  const rejections: unknown[] = [];
  const note = (reason: unknown) => rejections.push(reason);
  beforeAll(() => {
    process.on('unhandledRejection', note);
  });
  afterAll(() => {
    process.off('unhandledRejection', note);
  });
  afterEach(async () => {
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(rejections.splice(0)).toEqual([]);
  });
}
