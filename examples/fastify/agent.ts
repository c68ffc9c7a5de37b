import { type BaseLlm, LlmAgent } from '@google/adk';
import { defineTool } from 'duologue/adk';
import { z } from 'zod';

/** A tool that just runs, on the server. */
const flowerPrices = defineTool({
  name: 'flower_prices',
  description: 'Lists the flowers of the shop with their prices in dollars.',
  execute: () => ({ roses: 4, tulips: 2, lilies: 5 }),
});

/** A tool that runs on the server after the user has approved the call. */
const sendFlowers = defineTool({
  name: 'send_flowers',
  description: 'Sends a bunch of flowers to a person.',
  parameters: z.object({ flowers: z.string(), to: z.string() }),
  needsApproval: true,
  execute: ({ flowers, to }) => ({ sent: flowers, to }),
});

/** A tool that runs in the browser; the page answers it with what it did. */
const paintPage = defineTool({
  name: 'paint_page',
  description: 'Paints the background of the page in a CSS colour.',
  parameters: z.object({ colour: z.string() }),
  runsOn: 'client',
});

/** A florist: an ADK agent like any other. */
export function createAgent(model: string | BaseLlm): LlmAgent {
  return new LlmAgent({
    name: 'florist',
    model,
    instruction:
      'You sell flowers. Tell prices, send flowers to people, and paint the page as the customer likes.',
    tools: [flowerPrices, sendFlowers, paintPage],
  });
}
