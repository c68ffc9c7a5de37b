/** Whether this is a device of Apple, whose keys have other names. */
export function isApple(): boolean {
  return /Mac|iPhone|iPad/.test(globalThis.navigator?.platform ?? '');
}
