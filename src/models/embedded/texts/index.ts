/**
 * The catalogues of what the embedded model says: one file for each language. Rules pick their texts from here and have no sentences of
 * their own. The texts about a tool are those of the application that brings the tool.
 */
import { en } from './en.ts';
import { ja } from './ja.ts';

/** What the embedded model says, by language. */
export const TEXTS = { en, ja };
