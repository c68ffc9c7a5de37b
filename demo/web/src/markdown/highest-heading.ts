import type { Token } from 'marked';
import { createContext } from 'react';

/** The level of the most important heading in the text around. */
export const HighestHeading = createContext(1);

/** The level of the most important heading among these blocks. */
export function highestHeading(tokens: readonly Token[]): number {
  return tokens.reduce(
    (highest, token) => (token.type === 'heading' ? Math.min(highest, token.depth) : highest),
    6,
  );
}
