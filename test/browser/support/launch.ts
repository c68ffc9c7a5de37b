import { type Browser, type BrowserServer, chromium } from 'playwright-core';

/** How long the browser may take for one thing: long enough for a slow machine, so that only a hang fails. */
export const PATIENCE_MS = 120_000;

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--autoplay-policy=no-user-gesture-required',
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
