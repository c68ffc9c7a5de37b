import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The first folder that has all of these commands: on the path, or one of `others`. */
export function folderOf(commands: readonly string[], others: readonly string[] = []): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...others];
  return folders.find((folder) => commands.every((command) => canRun(join(folder, command))));
}

function canRun(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
