/**
 * A store that lives as long as the process. `memory-store.ts` finds sessions and checks who owns them; each other file holds
 * one kind of thing that is kept. Everything is kept as JSON: what comes out is what a file would return, and no caller shares
 * an object with the store. A write prepares all that can fail before it changes anything, which makes it one transaction.
 */
export { createMemoryStore } from './memory-store.ts';
