/** What happened on the wire: a request or a socket is a channel, and things go out and come in on it. */
export type WireEvent = { at: number; channel: number } & (
  | { type: 'request'; method: string; path: string; body: string | null }
  | { type: 'response'; status: number; contentType: string }
  | { type: 'open'; path: string }
  | { type: 'text'; direction: Direction; text: string }
  | { type: 'binary'; direction: Direction; size: number }
  /** Out: this page ended it. In: the other side did, or the network. */
  | { type: 'close'; direction: Direction; code: number | null; reason: string }
);

/** From this page, or to it. */
export type Direction = 'out' | 'in';
