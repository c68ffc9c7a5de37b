import type { Token } from 'marked';
import { createContext } from 'react';

/** The highest heading level of the surrounding text. */
export const HighestHeading = createContext(1);

/** The highest heading level among the blocks. */
export function highestHeading(tokens: readonly Token[]): number {
  return tokens.reduce(
    (highest, token) => (token.type === 'heading' ? Math.min(highest, token.depth) : highest),
    6,
  );
}
