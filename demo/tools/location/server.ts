import type { DemoTool } from '../tool.ts';
import { locationTool } from './definition.ts';
import { location } from './rule.ts';

/** The user's location: a tool that runs in the browser after the user's approval. */
const tool: DemoTool = {
  instruction: 'get_location: where the user is. The system asks the user first.',
  define: () => locationTool(),
  rules: [location],
  words: 'where get find current location position'.split(' '),
};

export default tool;
