import { frameworkContract } from './support/framework-contract.ts';
import { openNext } from './support/framework-process.ts';
import { frameworks } from './support/frameworks.ts';

for (const framework of frameworks) frameworkContract(framework);
frameworkContract({ name: 'a custom server of Next.js', open: () => openNext('custom') });
