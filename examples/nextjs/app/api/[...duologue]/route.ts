import { duologueNext } from 'duologue/server/next';
import { duologue } from '../../../duologue.ts';

export const { GET, POST, PATCH, DELETE, OPTIONS } = duologueNext(duologue);
