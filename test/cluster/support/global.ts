import type { TestProject } from 'vitest/node';
import { startPostgres } from '../../../scripts/cluster/postgres-server.ts';
import { startRedis } from '../../../scripts/cluster/redis-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The address of a PostgreSQL that all files share, each with a schema of its own. */
    postgres: string;
    /** The address of a Redis that all files share, each with a prefix of its own. */
    redis: string;
    /** Whether tests may start and stop their own PostgreSQL and Redis; false when the environment gives running ones. */
    canStartEngines: boolean;
  }
}

/** Starts the shared PostgreSQL and Redis, or uses those of the environment. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { DUOLOGUE_TEST_POSTGRES: postgresUrl, DUOLOGUE_TEST_REDIS: redisUrl } = process.env;
  const postgres = postgresUrl ? null : await startPostgres();
  const redis = redisUrl ? null : await startRedis();
  project.provide('postgres', postgres?.url ?? postgresUrl ?? '');
  project.provide('redis', redis?.url ?? redisUrl ?? '');
  project.provide('canStartEngines', postgres !== null && redis !== null);
  return async () => {
    await postgres?.close();
    await redis?.close();
  };
}
