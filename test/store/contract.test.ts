import * as vitest from 'vitest';
import { storeContract } from '../../src/testing/index.ts';
import { kinds } from './support/stores.ts';

for (const [name, open] of kinds) storeContract(vitest, name, open);
