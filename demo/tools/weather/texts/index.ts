import * as en from './en.ts';
import * as ja from './ja.ts';

/** What the page says about the weather, in each language. */
export const PAGE = { en: en.page, ja: ja.page };

/** What the embedded model says about the weather, in each language. */
export const MODEL = { en: en.model, ja: ja.model };

/** The error texts of the tool, the note in sample data, and the error texts in Japanese. */
export const ERRORS = en.errors;
export const SAMPLE_NOTE = en.sampleNote;
export const REASONS_JA = ja.reasons;
