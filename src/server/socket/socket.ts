import { notJson } from '../../protocol/frames.ts';

/** A WebSocket as the server uses it. Each adapter implements it with its WebSocket library. */
export interface Socket {
  /** The negotiated subprotocol; empty when there is none. */
  readonly protocol: string;
  /** Bytes that were sent but are not on the network yet. */
  readonly bufferedAmount: number;
  send(data: string | Uint8Array): void;
  /** Sends a ping. The client answers with a pong that has the same data, once it has received everything that was sent before the ping. */
  ping(data?: Uint8Array): void;
  pong(data: Uint8Array): void;
  close(code: number, reason: string): void;
}

/** The methods by which an adapter reports the events of a socket to the server. */
export interface AcceptedSocket {
  /** Reports how many bytes came off the network. The adapter first calls `receive` for each frame that ended in them. */
  arrived(bytes: number): void;
  /** Reports a whole frame. */
  receive(data: Uint8Array, isBinary: boolean): void;
  /** Reports a ping; the server answers it. */
  ping(data: Uint8Array): void;
  /** Reports a pong, with the data of the ping that it answers. */
  pong(data?: Uint8Array): void;
  /** Reports that the socket is closed. */
  closed(): void;
}

/** Limits of connections. */
export interface SocketLimits {
  /** The largest number of connections of one user at a time. */
  connectionsPerUser: number;
  /** The largest number of frames with answers to calls that one user may send in a minute. Each may cause a write to the store. */
  answersPerMinute: number;
  /** Bytes of text that may wait for a slow client before the server stops sending. */
  maxBufferedBytes: number;
  /** Bytes of sound that may wait for a slow client. To add more, the oldest sound is dropped. */
  maxSoundBytes: number;
  /** How many chunks a client may lag behind before the server closes the connection. The client can reconnect and resume. */
  maxLag: number;
  /** Frames per second that a client may send: text frames, pings, pongs and refused binary frames. */
  framesPerSecond: number;
  /** Binary frames, with sound or pictures, per second. */
  mediaFramesPerSecond: number;
  /** Bytes of sound and pictures per second; several times as many as a microphone and a camera produce. */
  mediaBytesPerSecond: number;
  /** The time between two pings of the server. */
  heartbeatMs: number;
  /** The server closes the connection of a client that sends nothing for this long, not even a pong. */
  silenceMs: number;
  /** The server closes a connection over which no frame, chunk or sound travels for this long. */
  idleMs: number;
}

/** The default limits, as in PROTOCOL.md. */
export const DEFAULT_SOCKET_LIMITS: SocketLimits = {
  connectionsPerUser: 256,
  answersPerMinute: 600,
  maxBufferedBytes: 1024 * 1024,
  maxSoundBytes: 512 * 1024,
  maxLag: 30_000,
  framesPerSecond: 100,
  mediaFramesPerSecond: 500,
  mediaBytesPerSecond: 2 * 1024 * 1024,
  heartbeatMs: 20_000,
  silenceMs: 60_000,
  idleMs: 30 * 60_000,
};

/** Converts bytes to base64, without copying them first. */
export function toBase64(bytes: Uint8Array): string {
  const { buffer, byteOffset, byteLength } = bytes;
  // Data from a socket is already a Buffer. Creating another view of it is measurable for every 20 ms of sound.
  const view = Buffer.isBuffer(bytes) ? bytes : Buffer.from(buffer, byteOffset, byteLength);
  return view.toString('base64');
}

/** The JSON of a text frame. Throws a `ProtocolError` for a text that is not JSON. */
export function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notJson();
  }
}
