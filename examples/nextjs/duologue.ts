import { createDuologue, type Duologue } from 'duologue/server';
import { agent } from './agent.ts';

// In development, Next.js loads this file again after every change. The server on `globalThis` keeps its sessions.
const kept = globalThis as { duologue?: Duologue };
kept.duologue ??= createDuologue({ agent, basePath: '/api' });

/** The one server of this process. */
export const { duologue } = kept;
