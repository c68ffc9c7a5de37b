/**
 * The link layer sends frames to a session and receives decoded chunks, over WebSocket or HTTP. `link.ts` has the interface, and each implementation
 * has its own file. `Connection` owns everything that outlives a link: state, position, requests without an answer, heartbeat.
 */
export * from './connection.ts';
export { type ConnectionState, endOf } from './connection-state.ts';
export { httpLinks } from './http-link.ts';
export type * from './link.ts';
export type { ConnectionEvent } from './position.ts';
export * from './web-socket-link.ts';
