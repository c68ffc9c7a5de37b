import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A summary of the violations that axe finds on the page, by all rules or by the given ones. */
export async function violations(page: Page, rules?: string[]): Promise<string[]> {
  // Ends animations, so that axe measures final colours.
  await page.evaluate(() => {
    const still = new CSSStyleSheet();
    still.replaceSync('*, *::before, *::after { transition: none !important; animation: none !important; }');
    document.adoptedStyleSheets = [still];
  });
  // axe has half a megabyte, so it is injected once per page load.
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
    // A colour in transition belongs to neither theme.
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.locator(`html[data-theme="${colorScheme}"]`).waitFor({ state: 'attached' });
    const rules = colorScheme === 'dark' ? ['color-contrast'] : undefined;
    for (const violation of await violations(page, rules)) found.push(`in ${colorScheme}: ${violation}`);
  }
  return found;
}

/** Whether the page scrolls horizontally. */
export const overflows = (page: Page): Promise<boolean> =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);

/** The buttons and the like in view that are narrower or lower than a finger needs, 44 px, by their names and sizes. */
export const tooSmallForFingers = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll('button:not([data-dense]), summary, [role^="menuitem"]')].flatMap((one) => {
      const { width, height } = one.getBoundingClientRect();
      const isSeen = one.checkVisibility() && width > 0;
      const name = one.getAttribute('aria-label') ?? one.textContent;
      return isSeen && Math.min(width, height) < 44 ? `${name}: ${width} x ${height}` : [];
    }),
  );
