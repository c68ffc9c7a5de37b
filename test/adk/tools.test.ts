import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import { harness, say } from '../support/harness.ts';
import { call, text } from '../support/scripted-model.ts';

const report = { name: 'report', description: 'Reports.', parameters: z.object({}) };

const SENTENCE =
  'The "execute" of the tool "report" is a generator (function*) that is not async: write "async function*", or return the output.';

describe('the function of a server tool', () => {
  it('must be no generator that is not async', () => {
    expect(() =>
      defineTool({
        ...report,
        *execute() {
          yield 'half';
        },
      }),
    ).toThrow(SENTENCE);
  });

  it('must return no generator either: the call fails in words', async () => {
    function* work() {
      yield 'half';
    }
    const tool = defineTool({ ...report, execute: () => work() });
    const { chunks } = await harness([[call('report', {})], [text('Sorry.')]], [tool]).post(say('Report!'));
    expect(chunks).toContainEqual(
      expect.objectContaining({ type: 'tool-output-error', errorText: SENTENCE }),
    );
  });

  it('must be there', () => {
    expect(() => defineTool(report as never)).toThrow(
      'The tool "report" runs on the server and has no function "execute". Add it, or set runsOn: "client".',
    );
    expect(() => defineTool({ ...report, runsOn: 'client' })).not.toThrow();
  });
});
