/**
 * The catalogues of the texts of the embedded model: one file for each language. The general rules take their texts from here and contain
 * no sentences. The application that adds a tool also provides the texts about that tool. The folder has no state.
 */
import { en } from './en.ts';
import { ja } from './ja.ts';

/** The texts of the embedded model, by language. */
export const TEXTS = { en, ja };
