import { type Browser, type BrowserServer, chromium } from 'playwright-core';

/** How long the browser may take for one thing: long enough for a slow machine, so that only a hang fails. */
export const TIMEOUT_MS = 120_000;

/** What Playwright turns off; a second list replaces its own. */
const OFF_IN_PLAYWRIGHT = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
];

/** The list below the address bar of each window, which is a page of its own that no test sees, and a spare process for the next page: they took a third of the CPU of the tests. */
const UNSEEN = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'PreloadTopChromeWebUI',
  'SpareRendererForSitePerProcess',
];

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--autoplay-policy=no-user-gesture-required',
  `--disable-features=${[...OFF_IN_PLAYWRIGHT, ...UNSEEN].join(',')}`,
];

const options = { executablePath: process.env.CHROME_PATH ?? '/usr/bin/chromium', args: FLAGS };

/** Starts the browser that is installed. */
export function launch(flags: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ ...options, args: [...FLAGS, ...flags] });
}

/** Starts the browser that is installed, for others to connect to. */
export function launchServer(): Promise<BrowserServer> {
  return chromium.launchServer(options);
}
