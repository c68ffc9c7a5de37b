/**
 * Captures real responses as fixtures, through the vendors' own SDKs.
 *
 *   npm run fixtures:capture [-- OUTPUT_FOLDER]      (default: fixtures/responses)
 *
 * Runs the scenarios of each provider whose key is in the environment: OPENAI_API_KEY, ANTHROPIC_API_KEY,
 * GOOGLE_API_KEY, or AWS credentials (with AWS_REGION); prints the providers that it skipped. Keys never reach a file.
 * Exit code 0 unless a scenario failed.
 */
import { capture } from './capture/capture.ts';
import { sdkClients } from './capture/clients.ts';

const log = (line: string) => console.log(line);
const outDir = process.argv[2] ?? new URL('../fixtures/responses/', import.meta.url).pathname;
const { written, skipped, failed } = await capture({
  env: process.env,
  outDir,
  clientFor: sdkClients(process.env, log),
  now: () => new Date(),
  log,
});
log(`${written.length} written, ${failed.length} failed, providers skipped: ${skipped.join(', ') || 'none'}`);
process.exitCode = failed.length > 0 ? 1 : 0;
