import { anthropic } from './anthropic.ts';
import { bedrock } from './bedrock.ts';
import { compatible } from './compatible.ts';
import { openai } from './openai.ts';
import type { Provider } from './provider.ts';

/** The providers by their names in `DUOLOGUE_MODEL`. To add one, write its file and name it here. */
export const PROVIDERS: Readonly<Record<string, Provider>> = { openai, anthropic, bedrock, compatible };
