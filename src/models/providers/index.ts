/**
 * The providers that `DUOLOGUE_MODEL` can name and that are called through the AI SDK. Each file describes one provider: its package, its
 * keys, and how its model is created. To add a provider, write its file and add it below. A package is loaded when a model is created; this
 * module has no state.
 */
import { anthropic } from './anthropic.ts';
import { bedrock } from './bedrock.ts';
import { compatible, openai } from './openai.ts';
import type { Provider } from './provider.ts';

/** The providers by their names in `DUOLOGUE_MODEL`. */
export const PROVIDERS: Readonly<Record<string, Provider>> = { openai, anthropic, bedrock, compatible };
