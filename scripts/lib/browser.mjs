import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { aptInstall, canUseApt, missingPackages } from './apt.mjs';
import { findBrowser } from './find-browser.mjs';
import { announced, root } from './run.mjs';

// Without these fonts, screenshots show boxes in place of Japanese text and emoji.
const fonts = ['fonts-noto-cjk', 'fonts-noto-color-emoji'];

/** Whether any test drives a browser. */
export function hasBrowserTests() {
  return ['test', 'demo'].some((folder) => {
    if (!existsSync(resolve(root, folder))) return false;
    return readdirSync(resolve(root, folder), { recursive: true })
      .filter((path) => /\.tsx?$/.test(path) && !/(^|[\\/])(node_modules|dist)[\\/]/.test(path))
      .some((path) => /from 'playwright-core'/.test(readFileSync(resolve(root, folder, path), 'utf8')));
  });
}

const advice = [
  'The browser tests need Chromium or Chrome, and none was found.',
  process.env.CHROME_PATH
    ? `CHROME_PATH is ${process.env.CHROME_PATH}, which cannot be executed.`
    : undefined,
  'Install one of these, then run npm test again:',
  `  Debian (as root):  apt-get update && apt-get install -y --no-install-recommends chromium ${fonts.join(' ')}`,
  `  Ubuntu:            the google-chrome-stable .deb of google.com/chrome, and apt-get install ${fonts.join(' ')}`,
  '  Fedora:            dnf install chromium google-noto-sans-cjk-fonts google-noto-color-emoji-fonts',
  '  macOS:             brew install --cask google-chrome',
  '  elsewhere:         any Chromium, with CHROME_PATH set to its executable',
]
  .filter((line) => line !== undefined)
  .join('\n');

/** Finds a browser and the fonts for screenshots, and installs them where no user has to confirm that (Debian, as root). */
export async function ensureBrowser() {
  let path = findBrowser();
  if (canUseApt() && !(process.env.CHROME_PATH && path === undefined)) {
    const wanted = await missingPackages([...(path === undefined ? ['chromium'] : []), ...fonts]);
    if (wanted.length > 0) {
      console.log(`installing ${wanted.join(', ')} with apt-get`);
      const { result } = await announced('installing the browser', () => aptInstall(wanted));
      path = findBrowser();
      if (path === undefined) {
        return { path, note: 'apt-get brought no browser', output: `${result.output}\n${advice}` };
      }
      if (result.code !== 0) return { path, note: `${path}, without ${wanted.join(', ')}: apt-get failed` };
    }
  }
  return path === undefined ? { path, note: 'none found', output: advice } : { path, note: path };
}
