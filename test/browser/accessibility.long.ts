import { it } from 'vitest';
import { stage } from './support/browser.ts';
import { hasNoViolations } from './support/screens.ts';

const here = stage();

it('on a phone no screen has a violation of accessibility rules', () =>
  hasNoViolations(here, { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }));
