export type { Clock } from './clock.ts';
export { createDuologue, type Duologue, type DuologueOptions } from './duologue.ts';
export type { Logger } from './logger.ts';
export type { RateLimit } from './rate-limit.ts';
export { createMemoryStore } from './store/memory.ts';
export type * from './store/store.ts';
export { StaleFence, StateConflict, StoreError } from './store/store.ts';
