import { defineTool } from 'duologue/adk';

/** Asks the browser where the user is; the user is asked first. */
export function locationTool() {
  return defineTool({
    name: 'get_location',
    description: 'The user’s current position, from the browser. The user is asked to approve.',
    runsOn: 'client',
    needsApproval: true,
  });
}
