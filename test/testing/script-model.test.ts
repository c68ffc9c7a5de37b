import type { LlmRequest } from '@google/adk';
import { expect, it } from 'vitest';
import { ScriptedModel } from '../support/scripted-model.ts';

it('a scripted model that is called too often says how many turns its script has, at each further call', async () => {
  const model = new ScriptedModel(['One.']);
  model.add('Two.');
  const errors: string[] = [];
  for (let calls = 0; calls < 4; calls++) {
    const run = model.generateContentAsync({
      contents: [],
      toolsDict: {},
      liveConnectConfig: {},
    } satisfies LlmRequest);
    await run.next().catch((error: Error) => errors.push(error.message));
  }
  const more = 'Add a turn for each call: ADK also calls it after each tool call.';
  expect(errors).toEqual([
    `The model was called 3 times, but the script has 2 turns. ${more}`,
    `The model was called 4 times, but the script has 2 turns. ${more}`,
  ]);
});
