/**
 * The link layer: sends frames to a session and receives decoded chunks, over whichever wire. `link.ts` has the interface, one file each
 * has an implementation, and `Connection` owns what outlives a link: state, position, requests without an answer, heartbeat.
 */
export * from './connection.ts';
export { type ConnectionState, endOf } from './connection-state.ts';
export { httpLinks } from './http-link.ts';
export type * from './link.ts';
export type { ConnectionEvent } from './position.ts';
export * from './web-socket-link.ts';
