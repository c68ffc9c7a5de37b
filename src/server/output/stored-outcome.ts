import type { Outcome } from '../../adk/for-server.ts';
import type { Engine } from '../engine.ts';
import type { SessionKey } from '../store/store.ts';

/**
 * Converts the outcome of a tool to plain JSON values, as the store returns it later, and adds the files that the tool saved. An output or a state
 * change that cannot be written as JSON becomes an error of the tool.
 */
export async function storedOutcome(
  { engine, key }: { engine: Pick<Engine, 'savedFiles'>; key: SessionKey },
  outcome: Outcome,
  toolName: string,
): Promise<Outcome> {
  if (outcome.kind !== 'output' && outcome.kind !== 'error') return outcome;
  const saved = outcome.actions ? await engine.savedFiles(key, outcome.actions) : [];
  const files = saved.length === 0 ? {} : { files: saved };
  if (outcome.kind === 'error') return { kind: 'error', errorText: String(outcome.errorText), ...files };
  try {
    const text = JSON.stringify(outcome.output) ?? 'null';
    JSON.stringify(outcome.actions);
    const output = JSON.parse(text) as unknown;
    return { ...outcome, output, ...files };
  } catch {
    return {
      kind: 'error',
      errorText: `${toolName} ran, but its output or the state that it changed cannot be written as JSON.`,
      ...files,
    };
  }
}
