import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { announced, root, run } from './run.mjs';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'microsoft-edge'];
const applications = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge',
  ...['ProgramFiles', 'ProgramFiles(x86)', 'LOCALAPPDATA'].flatMap((variable) => {
    const folder = process.env[variable];
    return folder === undefined ? [] : [join(folder, 'Google/Chrome/Application/chrome.exe')];
  }),
];
// Without these, Japanese and emoji are boxes in every screenshot.
const fonts = ['fonts-noto-cjk', 'fonts-noto-color-emoji'];

const isExecutable = (path) => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/** The path of a Chromium-like browser: CHROME_PATH, else the usual places. */
export function findBrowser() {
  const chosen = process.env.CHROME_PATH;
  if (chosen) return isExecutable(chosen) ? chosen : undefined;
  const folders = ['/usr/bin', ...(process.env.PATH ?? '').split(delimiter)];
  return [...names.flatMap((name) => folders.map((folder) => join(folder, name))), ...applications].find(
    isExecutable,
  );
}

/** Whether any test drives a browser. */
export function hasBrowserTests() {
  return ['test', 'demo'].some((folder) => {
    if (!existsSync(resolve(root, folder))) return false;
    return readdirSync(resolve(root, folder), { recursive: true })
      .filter((path) => /\.tsx?$/.test(path) && !/(^|[\\/])(node_modules|dist)[\\/]/.test(path))
      .some((path) => /from 'playwright-core'/.test(readFileSync(resolve(root, folder, path), 'utf8')));
  });
}

const canUseApt = () =>
  process.getuid?.() === 0 && isExecutable('/usr/bin/apt-get') && isExecutable('/usr/bin/dpkg-query');

async function missingPackages(wanted) {
  const { output } = await run('dpkg-query', ['-s', ...wanted], { timeoutMs: 30_000, env: { LC_ALL: 'C' } });
  const installed = [...output.matchAll(/^Package: (.*)\nStatus: .* installed$/gm)].map((match) => match[1]);
  return wanted.filter((name) => !installed.includes(name));
}

async function aptInstall(packages) {
  const options = { env: { DEBIAN_FRONTEND: 'noninteractive' }, timeoutMs: 10 * 60_000 };
  const update = await run('apt-get', ['-qq', 'update'], options);
  const result = await run(
    'apt-get',
    ['-qq', '-y', '-o', 'DPkg::Lock::Timeout=300', 'install', '--no-install-recommends', ...packages],
    options,
  );
  return { code: result.code, output: update.output + result.output };
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

/** Finds a browser and the fonts for screenshots, and installs them where that needs no question (Debian, as root). */
export async function ensureBrowser() {
  let path = findBrowser();
  if (canUseApt() && !(process.env.CHROME_PATH && path === undefined)) {
    const wanted = await missingPackages([...(path === undefined ? ['chromium'] : []), ...fonts]);
    if (wanted.length > 0) {
      console.log(`installing ${wanted.join(', ')} with apt-get`);
      const { result } = await announced('installing the browser', () => aptInstall(wanted));
      path = findBrowser();
      if (path === undefined)
        return { path, note: 'apt-get brought no browser', output: `${result.output}\n${advice}` };
    }
  }
  return path === undefined ? { path, note: 'none found', output: advice } : { path, note: path };
}
