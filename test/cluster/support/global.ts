import type { TestProject } from 'vitest/node';
import { startPostgres } from '../../../scripts/cluster/postgres-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The address of a PostgreSQL that all files share. */
    postgres: string;
  }
}

/** Starts the engines that all files share, each file with a schema of its own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startPostgres();
  project.provide('postgres', postgres.url);
  return () => postgres.close();
}
