/**
 * Providers that `DUOLOGUE_MODEL` can name, through the AI SDK. Each file is one: which package it needs, which keys, and how its
 * model is made. To add one, write its file and name it below. A package is loaded when a model is made; this module has no state.
 */
import { anthropic } from './anthropic.ts';
import { bedrock } from './bedrock.ts';
import { compatible, openai } from './openai.ts';
import type { Provider } from './provider.ts';

/** The providers by their names in `DUOLOGUE_MODEL`. */
export const PROVIDERS: Readonly<Record<string, Provider>> = { openai, anthropic, bedrock, compatible };
