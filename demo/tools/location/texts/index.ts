import * as en from './en.ts';
import * as ja from './ja.ts';

/** What the page says about the user's location, in each language. */
export const PAGE = { en: en.page, ja: ja.page };

/** What the embedded model says about the location, in each language. */
export const MODEL = { en: en.model, ja: ja.model };

/** The error texts of the tool, and what the user sees instead of them in each language. */
export const ERRORS = en.errors;
export const REASONS = { en: en.reasons, ja: ja.reasons };
