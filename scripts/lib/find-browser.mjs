import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

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

/** Whether a path is a file that may be executed. */
export const isExecutable = (path) => {
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
