import * as ai from 'ai';
import * as ai6 from 'ai6';
import * as ai6min from 'ai6min';

/** The AI SDK, as its newest version has it. */
export type Sdk = typeof ai;

/** The leg of the tests: `6` or `7` for one major version of the AI SDK alone, undefined for both. `vitest.config.ts` reads it too. */
const leg = process.env.DUOLOGUE_TEST_AI;

/** The package that `@ai-sdk/react` is in this leg. */
export const hooks = leg === '6' ? '@ai-sdk/react 3' : '@ai-sdk/react 4';

const all: [string, Sdk][] = [
  ['7.0.173', ai],
  ['6.0.326', ai6 as unknown as Sdk],
  ['6.0.304', ai6min as unknown as Sdk],
];

/** The versions of the AI SDK whose clients must understand us, the newest first: the newest 7, the newest 6, the oldest 6 that we allow. */
export const sdks = all.filter(([version]) => leg === undefined || version.startsWith(leg));

/** The newest version of each major version. */
export const newestSdks = sdks.filter(([version]) => version !== '6.0.304');

/** Whether this version has a WebSocket transport of its own: `ai` 6 has none. */
export const hasStockSocket = (sdk: Sdk): boolean => 'WebSocketChatTransport' in sdk;

/** The newest version of all. */
export const [[, newestSdk] = ['', ai]] = sdks;
