import { type BaseLlm, LlmAgent } from '@google/adk';
import { defineTool } from 'duologue/adk';
import { z } from 'zod';

const bookTable = defineTool({
  name: 'book_table',
  description: 'Books a table.',
  parameters: z.object({ seats: z.number().int().positive() }),
  needsApproval: true,
  execute: ({ seats }) => ({ booked: seats }),
});

const findPlace = defineTool({
  name: 'find_place',
  description: 'Finds out where the guest is.',
  parameters: z.object({}),
  runsOn: 'client',
});

/** The agent of a restaurant: it books a table after the guest approves, and asks the browser where the guest is. */
export function createAgent(model: string | BaseLlm): LlmAgent {
  return new LlmAgent({
    name: 'host',
    model,
    instruction: 'You work at a restaurant. Book tables, and tell guests the way.',
    tools: [bookTable, findPlace],
  });
}
