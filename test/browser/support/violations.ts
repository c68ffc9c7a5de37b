import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds wrong on the page, in short: by all its rules, or by some. */
export async function violations(page: Page, rules?: string[]): Promise<string[]> {
  // Colours are measured as they are, not as they fade in, or as they come and go.
  await page.evaluate(() => {
    const still = new CSSStyleSheet();
    still.replaceSync('*, *::before, *::after { transition: none !important; animation: none !important; }');
    document.adoptedStyleSheets = [still];
  });
  // Half a megabyte: once for each load of the page.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
  return page.evaluate(async (runOnly) => {
    const { axe: engine } = window as unknown as {
      axe: {
        run(options: { resultTypes: string[]; runOnly?: string[] }): Promise<{
          violations: { id: string; nodes: { target: string[]; failureSummary: string }[] }[];
        }>;
      };
    };
    const { violations: found } = await engine.run({
      resultTypes: ['violations'],
      ...(runOnly && { runOnly }),
    });
    document.adoptedStyleSheets = [];
    return found.flatMap(({ id, nodes }) =>
      nodes.map(
        ({ target, failureSummary }) =>
          `${id}: ${target.join(' ')}: ${failureSummary.split('\n')[1]?.trim()}`,
      ),
    );
  }, rules);
}

/**
 * What axe finds wrong on the page in light and in dark colours; the page changes them without being loaded again. In the dark only the
 * contrasts are others.
 */
export async function violationsInBothSchemes(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    // What fades from one colour into the other is neither.
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.locator(`html[data-theme="${colorScheme}"]`).waitFor({ state: 'attached' });
    const rules = colorScheme === 'dark' ? ['color-contrast'] : undefined;
    for (const violation of await violations(page, rules)) found.push(`in ${colorScheme}: ${violation}`);
  }
  return found;
}

/** Whether anything sticks out to the side. */
export const overflows = (page: Page): Promise<boolean> =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
