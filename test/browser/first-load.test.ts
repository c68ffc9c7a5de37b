import { describe, expect, it } from 'vitest';
import { stage } from './support/browser.ts';

const here = stage();

/** Asks for a path as a browser that reads these encodings would. */
async function ask(path: string, accepted: string): Promise<Response> {
  return fetch(here.server.url + path, { headers: { 'accept-encoding': accepted } });
}

describe('the first load of the page', () => {
  it('takes at most 200 kB on the wire, and a second one nothing but the page itself', async () => {
    const page = await here.open({ url: 'about:blank' });
    const session = await page.context().newCDPSession(page);
    let bytes = 0;
    const sent: string[] = [];
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await session.send('Network.enable');
    page.on('response', (response) => {
      if (response.url().includes('/assets/')) sent.push(response.url());
    });
    await page.goto(here.server.url);
    await page.getByRole('heading', { name: 'What shall we do?' }).waitFor();
    await page.waitForLoadState('networkidle');
    expect(sent.length).toBeGreaterThan(1);
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThanOrEqual(200_000);
    bytes = 0;
    await page.reload();
    await page.getByRole('heading', { name: 'What shall we do?' }).waitFor();
    await page.waitForLoadState('networkidle');
    expect(bytes).toBeLessThanOrEqual(10_000);
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
