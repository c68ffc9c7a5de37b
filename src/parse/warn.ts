import type { Warning, WarningCode } from './reading.ts';

/** Adds a warning; each code is told once, with the first occasion. */
export function warn(warnings: Warning[], code: WarningCode, message: unknown = ''): void {
  if (!warnings.some((warning) => warning.code === code)) warnings.push({ code, message: String(message) });
}
