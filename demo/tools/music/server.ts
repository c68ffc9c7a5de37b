import type { DemoTool } from '../tool.ts';
import { musicTool } from './definition.ts';
import { music } from './rule.ts';

/** The background music: a tool that runs in the browser and needs no approval. */
const tool: DemoTool = {
  instruction: 'change_bgm: changes the background music in the browser to track 1 or 2.',
  define: () => musicTool(),
  rules: [music],
  words: 'play put change switch stop music song track first second other'.split(' '),
};

export default tool;
