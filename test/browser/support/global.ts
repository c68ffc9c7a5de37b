import type { TestProject } from 'vitest/node';
import { built } from './built.ts';
import { launchServer } from './launch.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the browser of all test files listens. */
    browser: string;
  }
}

/** Before the first test file: builds what `npm start` builds, and starts one browser for all of them. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  await built();
  const browser = await launchServer();
  project.provide('browser', browser.wsEndpoint());
  return () => browser.close();
}
