/** How the person reaches the agent: one request a turn, or one socket for everything. */
export type Wire = 'sse' | 'bidi';
