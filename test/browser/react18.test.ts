import { expect, it } from 'vitest';
import { pageStage } from './support/plain.ts';

const stage = pageStage('hook-page.ts', 'React 18');

it.each(['sse', 'bidi'])('a page with React 18 and our hook talks and approves, over %s', async (mode) => {
  const page = await stage.goto(`#${mode}`);
  expect(await page.locator('h1').textContent()).toMatch(/^18\./);
  await page.locator('#ask').click();
  await page.locator('#approve').click();
  await page.locator('output', { hasText: 'Done.' }).waitFor();
});
