import { once } from 'node:events';
import { WebSocket } from 'ws';
import { BINARY, encodeBinary, SUBPROTOCOL } from '../../src/protocol/index.ts';
import { FRAME_MS, UP_BYTES } from './sizes.ts';

/** The wire format of a server: its subprotocol, the frame for 20 ms of audio, and a test for audio frames. */
export interface Wire {
  protocol: string | undefined;
  isSound: (isBinary: boolean) => boolean;
  sound: string | Uint8Array;
}

const PCM = Buffer.alloc(UP_BYTES, 3);
const FRAME = encodeBinary({ kind: BINARY.audioUp, sampleRate: 16_000, payload: PCM });
const START = JSON.stringify({ type: 'audio_control', version: '1.0', data: { action: 'start' } });

const binary: Wire = { protocol: undefined, isSound: (isBinary) => isBinary, sound: FRAME };
const own: Wire = { ...binary, protocol: SUBPROTOCOL };

/** The wire format of each server. */
export const WIRES: Record<string, Wire> = {
  bare: binary,
  again: binary,
  json: {
    protocol: undefined,
    isSound: () => true,
    sound: JSON.stringify({
      type: 'audio_chunk',
      data: { chunk: PCM.toString('base64'), sampleRate: 16_000, channels: 1, bitDepth: 16 },
    }),
  },
  ours: own,
  adk: own,
  earlier: own,
};

/** Opens that many connections and waits until each can send audio. */
export async function connect(port: number, wire: Wire, count: number): Promise<WebSocket[]> {
  const sockets: WebSocket[] = [];
  while (sockets.length < count) {
    const some = Array.from({ length: Math.min(50, count - sockets.length) }, () => dial(port, wire));
    sockets.push(...(await Promise.all(some)));
  }
  return sockets;
}

async function dial(port: number, { protocol, sound, isSound }: Wire): Promise<WebSocket> {
  const url = `ws://127.0.0.1:${port}/live`;
  const socket = protocol === undefined ? new WebSocket(url) : new WebSocket(url, protocol);
  // The server greets after the connection has joined its session. It would not answer audio sent before that.
  const greeted = protocol === undefined ? once(socket, 'open') : once(socket, 'message');
  await greeted;
  if (protocol !== undefined) socket.send(START);
  // One answer proves that the whole path is open, including the run of the agent.
  const answered = new Promise<void>((resolve) => {
    const take = (_data: unknown, isBinary: boolean) => {
      if (!isSound(isBinary)) return;
      socket.off('message', take);
      resolve();
    };
    socket.on('message', take);
  });
  socket.send(sound);
  await answered;
  return socket;
}

/** Sends the next 20 ms on each connection as soon as the previous ones are answered, for `ms`; returns the number of pairs. */
export async function pairs(sockets: readonly WebSocket[], wire: Wire, ms: number): Promise<number> {
  let count = 0;
  let isOver = false;
  const ended = sockets.map(
    (socket) =>
      new Promise<void>((resolve) => {
        const take = (_data: unknown, isBinary: boolean) => {
          if (!wire.isSound(isBinary)) return;
          count += 1;
          if (!isOver) return socket.send(wire.sound);
          socket.off('message', take);
          resolve();
        };
        socket.on('message', take);
        socket.send(wire.sound);
      }),
  );
  setTimeout(() => {
    isOver = true;
  }, ms);
  await Promise.all(ended);
  return count;
}

/** Sends 20 ms of audio every 20 ms on all connections, as people speak; returns the delay of each answer in milliseconds. */
export async function talk(sockets: readonly WebSocket[], wire: Wire, ms: number): Promise<number[]> {
  const delays: number[] = [];
  const waiting = sockets.map((): number[] => []);
  const takes = sockets.map((socket, index) => {
    const take = (_data: unknown, isBinary: boolean) => {
      const sent = wire.isSound(isBinary) ? waiting[index]?.shift() : undefined;
      if (sent !== undefined) delays.push(performance.now() - sent);
    };
    socket.on('message', take);
    return take;
  });
  const began = performance.now();
  // A fifth of the connections every 4 ms: people do not speak in step.
  const GROUPS = 5;
  for (let tick = 0; performance.now() - began < ms; tick++) {
    const due = began + (tick * FRAME_MS) / GROUPS;
    const now = performance.now();
    if (due > now) await new Promise((resolve) => setTimeout(resolve, due - now));
    for (let index = tick % GROUPS; index < sockets.length; index += GROUPS) {
      waiting[index]?.push(performance.now());
      sockets[index]?.send(wire.sound);
    }
    // Lets the event loop deliver answers even when this client is behind schedule.
    await new Promise((resolve) => setImmediate(resolve));
  }
  await new Promise((resolve) => setTimeout(resolve, 300));
  for (const [index, take] of takes.entries()) sockets[index]?.off('message', take);
  // An unanswered frame counts as an infinite delay.
  for (const one of waiting) for (const _ of one) delays.push(Number.POSITIVE_INFINITY);
  return delays;
}
