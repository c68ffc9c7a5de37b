import * as vitest from 'vitest';
import { storeContract } from '../../src/testing/index.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();

storeContract(vitest, 'PostgreSQL', async (now) => {
  await schema.empty();
  return schema.open(now);
});
