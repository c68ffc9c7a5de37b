import { defineTool } from 'duologue/adk';

/** Asks the browser for the user's location, after the user's approval. */
export function locationTool() {
  return defineTool({
    name: 'get_location',
    description: 'The user’s current position, from the browser. The user is asked to approve.',
    runsOn: 'client',
    needsApproval: true,
  });
}
