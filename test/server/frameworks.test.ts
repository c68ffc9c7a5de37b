import { frameworkContract } from './support/framework-contract.ts';
import { frameworks } from './support/frameworks.ts';

for (const framework of frameworks) frameworkContract(framework);
