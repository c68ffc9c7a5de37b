import { describe, expect, it } from 'vitest';
import { stage } from './support/browser.ts';

const here = stage();

/** Asks for a path as a browser that reads these encodings would. */
async function ask(path: string, accepted: string): Promise<Response> {
  return fetch(here.server.url + path, { headers: { 'accept-encoding': accepted } });
}

describe('the first load of the page', () => {
  it('takes at most 200 KiB on the wire, and a second one nothing but the page itself', async () => {
    const page = await here.open({ url: 'about:blank' });
    // Files that the page fetches later, after some seconds, do not count, however slow the page is.
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    const session = await page.context().newCDPSession(page);
    const names = new Map<string, string>();
    let bytes = new Map<string, number>();
    session.on('Network.requestWillBeSent', ({ requestId, request }) => names.set(requestId, request.url));
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      const name = names.get(requestId) ?? requestId;
      bytes.set(name, (bytes.get(name) ?? 0) + encodedDataLength);
    });
    await session.send('Network.enable');
    const load = async (how: () => Promise<unknown>) => {
      bytes = new Map();
      await how();
      await page.getByRole('heading', { name: 'What can I do for you?' }).waitFor();
      await page.waitForLoadState('networkidle');
      return bytes;
    };
    const sumOf = (all: Iterable<[string, number]>) => [...all].reduce((sum, [, one]) => sum + one, 0);
    const isAsset = (name: string) => name.includes('/assets/');
    const first = await load(() => page.goto(here.server.url));
    expect([...first.keys()].filter(isAsset).length).toBeGreaterThan(1);
    expect(sumOf(first)).toBeGreaterThan(50_000);
    expect(sumOf(first)).toBeLessThanOrEqual(200 * 1024);
    const second = await load(() => page.reload());
    // On a slow machine the page may have gone on loading after it was idle: that is not loaded again.
    expect(sumOf([...second].filter(([name]) => first.has(name) || !isAsset(name)))).toBeLessThanOrEqual(
      10_000,
    );
  });

  it('paints the outline and the name of the page before its script has come', async () => {
    const page = await here.open({ url: 'about:blank' });
    await page.route('**/*.js', () => undefined);
    await page.goto(here.server.url, { waitUntil: 'commit' });
    await page.locator('.shell').getByText('Duologue').first().waitFor();
    const painted = () => page.evaluate(() => performance.getEntriesByName('first-contentful-paint').length);
    await expect.poll(painted).toBe(1);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.goto(here.server.url);
    await page.getByRole('heading', { name: 'What can I do for you?' }).waitFor();
    expect(await page.locator('.shell').count()).toBe(0);
  });

  it.each([
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip;q=1.0, br;q=0', 'gzip'],
    ['identity', null],
  ])('is sent as the browser can read it: %s', async (accepted, encoding) => {
    const index = await ask('/', accepted);
    expect(index.headers.get('content-encoding')).toBe(encoding);
    expect(index.headers.get('vary')).toBe('accept-encoding');
    const [script] = /\/assets\/[^"]+\.js/.exec(await index.text()) ?? [];
    const asset = await ask(String(script), accepted);
    expect(asset.headers.get('content-encoding')).toBe(encoding);
    expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(asset.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(await asset.text()).toContain('import');
  });
});
