import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { ask, EXAMPLES, Example } from './support/example.ts';
import { TIMEOUT_MS } from './support/launch.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await chromium.connect(inject('browser'));
});
afterAll(() => browser.close());

test.each(EXAMPLES)(
  'npm run example -- %s serves a page with text, approvals and a browser tool',
  async (name) => {
    const example = new Example(name);
    onTestFinished(() => example.end());
    const url = await example.start();
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    context.setDefaultTimeout(TIMEOUT_MS);
    const page = await context.newPage();
    const problems: string[] = [];
    page.on('pageerror', ({ message }) => problems.push(message));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    await page.goto(url);

    await ask(page, 'What do flowers cost?');
    await page.getByText('Today: roses $4, tulips $2, lilies $5.').waitFor();

    await ask(page, 'Send tulips to Ann');
    await page.getByText('send_flowers {"flowers":"tulips","to":"Ann"}').waitFor();
    expect(await page.getByText('The tulips are on their way').count()).toBe(0);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('The tulips are on their way to Ann.').waitFor();

    await ask(page, 'Send roses to Bob');
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByText('Send flowers was denied').waitFor();

    await ask(page, 'Paint the page khaki');
    await page.getByText('The page is khaki now.').waitFor();
    expect(await page.evaluate(() => document.body.style.background)).toBe('khaki');
    expect(await page.getByText('The roses are on their way').count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    expect(problems).toEqual([]);
  },
);
