/**
 * Tools for the tests of applications that use the library. To test an agent: a model that plays a script (`script-model.ts`), a client without a browser
 * (`test-client.ts`) and fake time (`fake-time.ts`). To test a store: its contract as tests, which run in the test runner that the caller passes; `store/`
 * has a file for each subject. All state belongs to the objects that a test creates.
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
export {
  type TestClient,
  type TestClientOptions,
  type TestMessageOptions,
  testClient,
} from './test-client.ts';
export type { TestApproval, TestToolCall, TestTurn } from './test-turn.ts';
