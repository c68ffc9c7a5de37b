/** The log of the server. Messages and fields never contain arguments of calls, texts of users or keys. */
export interface Logger {
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

type Level = keyof Logger;
type FieldsFirst = Record<Level, (fields: Record<string, unknown>, message: string) => void>;

/** Writes warnings and errors to the console. */
export const consoleLogger: Logger = {
  info() {},
  warn: (message, fields) => console.warn(`duologue: ${message}`, fields ?? ''),
  error: (message, fields) => console.error(`duologue: ${message}`, fields ?? ''),
};

/** Writes a line for the user who started the program. */
export function sayOnConsole(text: string): void {
  console.log(`duologue: ${text}`);
}

/** Returns a logger that takes the message first, as the server passes it. A pino logger takes the fields first and would drop them otherwise. */
export function toLogger(given: Logger): Logger {
  if (!isPino(given)) return given;
  const pino = given as unknown as FieldsFirst;
  const at =
    (level: Level): Logger[Level] =>
    (message, fields) =>
      pino[level](fields ?? {}, message);
  return { info: at('info'), warn: at('warn'), error: at('error') };
}

function isPino(logger: object): boolean {
  return (
    'bindings' in logger &&
    typeof logger.bindings === 'function' &&
    'child' in logger &&
    typeof logger.child === 'function'
  );
}
