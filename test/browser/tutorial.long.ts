import { test } from 'vitest';
import { TutorialStage } from './support/tutorial.ts';

const stage = new TutorialStage();

test.each([
  ['bidi', false],
  ['sse', true],
] as const)('the tutorial ends with an approved refund, over %s, through Vite: %s', (mode, isProxied) =>
  stage.follow(mode, isProxied),
);
