import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from '../../src/parse/index.ts';
import { type Client, type Line, PROVIDERS, type Provider } from './providers.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import { scrub } from './scrub.ts';

/** The dependencies of a capture. */
export interface CaptureOptions {
  env: Readonly<Record<string, string | undefined>>;
  outDir: string;
  /** Returns a client for a provider whose keys are in the environment. */
  clientFor(provider: string): Promise<Client>;
  now(): Date;
  log(line: string): void;
}

/** The result of a capture. */
export interface CaptureResult {
  written: string[];
  skipped: string[];
  failed: string[];
}

function hasKeys(provider: Provider, env: CaptureOptions['env']): boolean {
  return provider.keys.some((group) => group.every((key) => env[key]));
}

async function gather(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const events: unknown[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Runs a conversation to its end; the last request and its response are the fixture. */
async function converse(provider: Provider, scenario: Scenario, client: Client) {
  const lines: Line[] = [];
  let request: Record<string, unknown> = {};
  let response: unknown = null;
  for (const text of scenario.turns) {
    lines.push({ role: 'user', text });
    request = provider.request(scenario, lines);
    response = scenario.stream ? await gather(await client.stream(request)) : await client.call(request);
    const record = parse(response, { provider: provider.name });
    if (record.error !== null) throw new Error(record.error.message);
    lines.push({ role: 'assistant', text: record.text });
  }
  return { request, response };
}

/** Runs every scenario of every provider whose keys are in the environment, and writes the responses with all keys removed. */
export async function capture(options: CaptureOptions): Promise<CaptureResult> {
  const { env, outDir, log } = options;
  const result: CaptureResult = { written: [], skipped: [], failed: [] };
  await mkdir(outDir, { recursive: true });
  for (const provider of PROVIDERS) {
    if (!hasKeys(provider, env)) {
      const wanted = provider.keys.map((group) => group.join(' and ')).join(', or ');
      log(`skipped ${provider.name}: ${wanted} not set (${SCENARIOS.length} scenarios)`);
      result.skipped.push(provider.name);
      continue;
    }
    const client = await options.clientFor(provider.name);
    for (const scenario of SCENARIOS) {
      const name = `real_${provider.name}_${scenario.name}.json`;
      try {
        const { request, response } = await converse(provider, scenario, client);
        const fixture = {
          _description: scenario.description,
          _source: 'Live API call',
          _captured: options.now().toISOString(),
          _model: provider.model(scenario),
          _scenario: scenario.scenario,
          provider: provider.name,
          request,
          response,
        };
        await writeFile(join(outDir, name), `${scrub(JSON.stringify(fixture, null, 2), env)}\n`);
        log(`wrote ${name}`);
        result.written.push(name);
      } catch (cause) {
        log(`failed ${name}: ${scrub(cause instanceof Error ? cause.message : String(cause), env)}`);
        result.failed.push(name);
      }
    }
  }
  return result;
}
