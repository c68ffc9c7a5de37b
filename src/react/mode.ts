/** How a conversation travels: one HTTP request a turn, or one WebSocket for everything. */
export type Mode = 'sse' | 'bidi';
