/**
 * Tests for what others write against our interfaces. They run in whatever test runner they are given and keep no state
 * of their own. Beside the library they import nothing. `store/` has a file for each subject of the store's contract.
 */
export { storeContract } from './store/contract.ts';
export type { Expect, TestRunner } from './store/setup.ts';
