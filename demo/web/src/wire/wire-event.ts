/** Something that the page sent or received. `channel` is the number of the request or socket. */
export type WireEvent = { at: number; channel: number } & (
  | { type: 'request'; method: string; path: string; body: string | null }
  | { type: 'response'; status: number; contentType: string }
  | { type: 'open'; path: string }
  | { type: 'text'; direction: Direction; text: string }
  | { type: 'binary'; direction: Direction; size: number }
  /** `out`: this page closed the channel. `in`: the server or the network did. */
  | { type: 'close'; direction: Direction; code: number | null; reason: string }
);

/** From this page, or to it. */
export type Direction = 'out' | 'in';
