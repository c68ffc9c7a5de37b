import { beforeAll, expect, it } from 'vitest';
import { fillLargeStore } from '../attacks/support/large-store.ts';
import { stage } from './support/browser.ts';
import { Person } from './support/person.ts';

const here = stage();

beforeAll(async () => {
  await here.server.stop();
  await fillLargeStore(here.server.folder, 'live_user');
  await here.server.start();
});

it.each(['sse', 'bidi'] as const)(
  '[S18] a conversation of 300 MB, one of 50,000, opens with its newest page, goes back page by page, and goes on, over %s',
  async (mode) => {
    const page = await here.open({ mode, url: 'about:blank' });
    const session = await page.context().newCDPSession(page);
    let bytes = 0;
    session.on('Network.dataReceived', ({ dataLength }) => {
      bytes += dataLength;
    });
    await session.send('Network.enable');
    await page.goto(`${here.server.url}/?session=long`);
    const person = new Person(page);
    const shown = () => page.locator('[data-testid^="message-"]').count();
    await expect.poll(shown).toBeGreaterThan(0);
    const first = await shown();
    expect(first).toBeLessThan(10);
    await page.getByRole('button', { name: 'Show earlier messages' }).dispatchEvent('click');
    await expect.poll(shown).toBeGreaterThan(first);
    await person.say('Hello');
    await person.answers.getByText('What would you like?').last().waitFor();
    // Scripts and fonts are some 700 kB, a page of messages 256 kB.
    expect(bytes).toBeLessThan(4_000_000);
  },
);
