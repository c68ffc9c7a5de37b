export { instrument } from './gate.ts';
export { openCalls } from './gate-plugin.ts';
export type { OpenCall } from './run.ts';
export { type ClientTool, DuologueTool, defineTool, type ServerTool } from './tools.ts';
export { Turn, type TurnOutput } from './turn.ts';
