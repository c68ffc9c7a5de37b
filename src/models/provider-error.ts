/** The HTTP status that an error of a provider carries. */
export function httpStatusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { status, statusCode } = error as { status?: unknown; statusCode?: unknown };
  const code = typeof status === 'number' ? status : statusCode;
  return typeof code === 'number' && code >= 400 && code <= 599 ? code : undefined;
}

/** The provider's own sentence: Google's errors carry it inside the JSON of their message. */
export function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  try {
    const inner: unknown = (JSON.parse(message) as { error?: { message?: unknown } }).error?.message;
    return typeof inner === 'string' ? inner : message;
  } catch {
    return message;
  }
}
