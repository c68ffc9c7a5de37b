/**
 * For tests of those who use the library. For an agent: a model that plays a script (`script-model.ts`), a page without a browser
 * (`test-client.ts`) and fake time (`fake-time.ts`). For a store: its contract as tests, which run in whatever test runner they are
 * given; `store/` has a file for each subject. Everything here keeps its state in the objects that a test makes.
 */
export { FakeTime } from './fake-time.ts';
export {
  type ScriptedModel,
  type ScriptFunction,
  type ScriptStep,
  type ScriptTurn,
  type SeenRequest,
  scriptModel,
} from './script-model.ts';
export { storeContract } from './store/contract.ts';
export type { Expect, TestRunner } from './store/setup.ts';
export { type TestClient, type TestClientOptions, testClient } from './test-client.ts';
export type { TestApproval, TestToolCall, TestTurn } from './test-turn.ts';
