import { DuologueHttp } from 'duologue/client';

/** The server that this page came from. */
export const http = new DuologueHttp({ url: '' });
