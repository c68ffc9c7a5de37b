/**
 * The functions that the server calls on objects of the application: its store, its hub and its clock. The compiler keeps the lists complete, so that an object
 * that lacks a function is refused at start, and not when a user needs the function.
 */
import type { Clock } from './clock.ts';
import type { Hub } from './log/hub.ts';
import type { NodeDirectory, SharedStore, Store } from './store/store.ts';

/** The names of the functions that every `T` has. */
type Functions<T> = {
  [Name in keyof T]-?: T[Name] extends (...args: never[]) => unknown ? Name : never;
}[keyof T];

/** A list of all functions of `T`. */
type FunctionsOf<T> = Readonly<Record<Functions<T>, true>>;

/** The functions of a store. */
export const STORE: FunctionsOf<Store> = {
  createSession: true,
  loadSession: true,
  loadEvents: true,
  own: true,
  findSession: true,
  listSessions: true,
  listAllSessions: true,
  sessionBytes: true,
  renameSession: true,
  deleteSession: true,
  appendEvent: true,
  putMessage: true,
  loadMessages: true,
  loadMessage: true,
  loadPage: true,
  truncateMessages: true,
  addWaiting: true,
  waitingMessages: true,
  issueCalls: true,
  openCalls: true,
  findCall: true,
  findCalls: true,
  moveCall: true,
  decideCall: true,
  audit: true,
  loadAuditPage: true,
  acceptRequest: true,
  acceptedRequests: true,
  putFile: true,
  loadFile: true,
  saveArtifact: true,
  loadArtifact: true,
  artifactNames: true,
  artifactVersions: true,
  removeArtifact: true,
  userArtifactBytes: true,
  keepEvents: true,
  claimEvents: true,
  keepClaim: true,
  endClaim: true,
  trimEvents: true,
  close: true,
};

/** The functions of the directory of nodes of a store that several nodes share. */
const DIRECTORY: FunctionsOf<NodeDirectory> = {
  renew: true,
  living: true,
  acquire: true,
  create: true,
  release: true,
  stillOwned: true,
  putCommand: true,
  findCommand: true,
  removeCommand: true,
  leave: true,
};

/** The functions of a hub. */
export const HUB: FunctionsOf<Hub> = {
  take: true,
  append: true,
  remove: true,
  spend: true,
  connections: true,
  onBack: true,
  close: true,
};

/** The functions of a clock. */
export const CLOCK: FunctionsOf<Clock> = { now: true, elapsed: true, after: true };

/** The first function of a list that an object lacks; null when the object has all of them, and undefined when the value is no object. */
export function missingFunction(
  value: unknown,
  functions: Readonly<Record<string, true>>,
): string | null | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const members = value as Readonly<Record<string, unknown>>;
  return Object.keys(functions).find((name) => typeof members[name] !== 'function') ?? null;
}

/** Whether several nodes can share a store. */
export function isShared(store: Store): store is SharedStore {
  const { nodes, sharedState } = store as Partial<SharedStore>;
  return typeof sharedState === 'function' && missingFunction(nodes, DIRECTORY) === null;
}
