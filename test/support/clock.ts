export { FakeTime as ManualClock } from '../../src/testing/fake-time.ts';
