/** What a command may do to the world outside. */
export interface Io {
  out(text: string): void;
  err(text: string): void;
  stdin: AsyncIterable<unknown>;
  /** Progress is shown only to a person. */
  isTerminal: boolean;
  /** Milliseconds, from any start. */
  now(): number;
}

/** A subcommand: takes its arguments, returns the exit code. */
export type Command = (args: readonly string[], io: Io) => Promise<number>;
