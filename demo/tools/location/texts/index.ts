import * as en from './en.ts';
import * as ja from './ja.ts';

/** What the page says about the user's location, in each language. */
export const PAGE = { en: en.page, ja: ja.page };

/** What the embedded model says about it, in each language. */
export const MODEL = { en: en.model, ja: ja.model };

/** The errors of the tool, and how the user reads them in each language. */
export const ERRORS = en.errors;
export const REASONS = { en: en.reasons, ja: ja.reasons };
