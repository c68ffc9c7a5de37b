/** Whether the keys of this machine have Apple's names. */
export function isApple(): boolean {
  return /Mac|iPhone|iPad/.test(globalThis.navigator?.platform ?? '');
}
