import type { Wire } from './client.ts';

/** One measured server. */
export interface Variant {
  name: string;
  /** Its file under `servers` or `peers`. */
  server: string;
  wire: Wire;
  /** Whether the agent runs on ADK, as ours does. */
  runsAdk: boolean;
  /** The folder of the compiled server, for our own variants. */
  build?: string;
}

/** The base of all ratios, listed twice: the ratio of the two shows the noise. */
export const BASE = 'ADK + a constant res.write';
export const AGAIN = `${BASE}, again`;
export const OURS_SSE = 'Duologue over SSE, SQLite';
const OURS_SOCKET = 'Duologue over WebSocket, SQLite';

/** The lower bounds: the least that any server can cost, with and without ADK. */
export const FLOORS: readonly Variant[] = [
  { name: BASE, server: 'servers/adk-write.ts', wire: 'sse', runsAdk: true },
  { name: AGAIN, server: 'servers/adk-write.ts', wire: 'sse', runsAdk: true },
  { name: 'ADK + a constant ws frame', server: 'servers/adk-socket.ts', wire: 'socket', runsAdk: true },
];

/** Variants that only the full run measures. */
export const PEERS: readonly Variant[] = [
  { name: 'ADK alone', server: 'servers/adk-alone.ts', wire: 'sse', runsAdk: true },
  { name: 'bare node:http', server: 'servers/bare-http.ts', wire: 'sse', runsAdk: false },
  { name: 'bare ws', server: 'servers/bare-socket.ts', wire: 'socket', runsAdk: false },
  { name: "ADK's API server", server: 'peers/adk-api.ts', wire: 'adk-api', runsAdk: true },
  { name: 'ADK + AI SDK 7 by hand', server: 'peers/adk-ai.ts', wire: 'sse', runsAdk: true },
  { name: 'AI SDK 7 streamText', server: 'peers/stream-text.ts', wire: 'sse', runsAdk: false },
  { name: 'CopilotKit runtime', server: 'peers/copilotkit.ts', wire: 'copilotkit', runsAdk: false },
  { name: 'AG-UI encoder', server: 'peers/ag-ui.ts', wire: 'ag-ui', runsAdk: false },
  { name: 'socket.io', server: 'peers/socket-io.ts', wire: 'socket.io', runsAdk: false },
];

/** Our server, compiled into that folder; `as` is added to the name to tell two builds apart. */
export function ours(build: string, as = ''): Variant[] {
  return [
    { name: OURS_SSE + as, server: 'servers/ours.ts', wire: 'duologue-sse', runsAdk: true, build },
    { name: OURS_SOCKET + as, server: 'servers/ours.ts', wire: 'duologue-socket', runsAdk: true, build },
  ];
}
