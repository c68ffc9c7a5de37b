import { once } from 'node:events';
import { WebSocket } from 'ws';
import { BINARY, encodeBinary, SUBPROTOCOL } from '../../src/protocol/index.ts';
import { FRAME_MS, UP_BYTES } from './sizes.ts';

/** What speaks to a server: how it is greeted, what 20 ms of sound are on its wire, and which frames are sound. */
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

/** The wire of each server. */
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
};

/** Opens so many connections, ready to speak. */
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
  // The greeting comes when the connection is joined: sound from before that would be answered to nobody.
  const greeted = protocol === undefined ? once(socket, 'open') : once(socket, 'message');
  await greeted;
  if (protocol !== undefined) socket.send(START);
  // One answer shows that everything behind is open, an agent's run too.
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

/** Says the next 20 ms whenever the last were answered, on all connections, for so long; how many pairs there were. */
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

/** Speaks on all connections as people do, 20 ms every 20 ms; how long each answer took, in milliseconds. */
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
    // Answers have their turn, also when this side is late.
    await new Promise((resolve) => setImmediate(resolve));
  }
  await new Promise((resolve) => setTimeout(resolve, 300));
  for (const [index, take] of takes.entries()) sockets[index]?.off('message', take);
  // What was never answered took for ever.
  for (const one of waiting) for (const _ of one) delays.push(Number.POSITIVE_INFINITY);
  return delays;
}
