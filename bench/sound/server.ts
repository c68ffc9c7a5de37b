/**
 * A server that answers every 20 ms of sound with 20 ms of sound, in a process of its own. It reports its address, and on request what
 * it used: `bare` sends ready bytes, `json` reads and writes base64 in JSON, `ours` is our transport without an agent, `adk` our whole
 * server with a live model that answers at once.
 */
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  AsyncQueue,
  BaseLlm,
  type BaseLlmConnection,
  LlmAgent,
  type LlmResponse,
  LogLevel,
  setLogLevel,
} from '@google/adk';
import { WebSocketServer } from 'ws';
import type { Duologue } from '../../src/server/index.ts';
import type { ChunkLog } from '../../src/server/log/log.ts';
import type { Listener, Session } from '../../src/server/registry/session.ts';
import type { SocketConnectionContext } from '../../src/server/socket/socket-connection.ts';
import type { Sockets } from '../../src/server/socket/sockets.ts';
import { DOWN_BYTES } from './sizes.ts';

// The compiled package, as it is published: tsx wraps every created function to keep its name, which would cost time for each frame.
const [variant = '', build = ''] = process.argv.slice(2);
const load = <T>(path: string): Promise<T> => import(pathToFileURL(join(build, path)).href) as Promise<T>;
/** Our attachment of WebSockets; commits before `adapters/` have it in `use/`. */
const { attachWebSocket } = await load<typeof import('../../src/server/adapters/node.ts')>(
  existsSync(join(build, 'server/adapters')) ? 'server/adapters/node.js' : 'server/use/node.js',
);
const { DEFAULT_SOCKET_LIMITS } =
  await load<typeof import('../../src/server/socket/socket.ts')>('server/socket/socket.js');

setLogLevel(LogLevel.ERROR);

const HEADER = 8;
const PCM = Buffer.alloc(DOWN_BYTES, 7);
const PCM64 = PCM.toString('base64');
/** Limits that are never reached: a measured client sends faster than a person speaks. */
const limits = {
  ...DEFAULT_SOCKET_LIMITS,
  connectionsPerUser: 100_000,
  mediaFramesPerSecond: 1e6,
  mediaBytesPerSecond: 1e9,
};
const quiet = { info: () => undefined, warn: () => undefined, error: console.error };

function bare(server: Server): void {
  const frame = Buffer.alloc(HEADER + DOWN_BYTES, 7);
  new WebSocketServer({ server, perMessageDeflate: false }).on('connection', (socket) => {
    socket.on('message', () => socket.send(frame));
  });
}

function json(server: Server): void {
  new WebSocketServer({ server, perMessageDeflate: false }).on('connection', (socket) => {
    let heard = 0;
    socket.on('message', (text: Buffer) => {
      const { data } = JSON.parse(String(text)) as { data: { chunk: string } };
      heard += Buffer.from(data.chunk, 'base64').byteLength;
      const chunk = PCM.toString('base64');
      socket.send(JSON.stringify({ type: 'audio', data: { chunk, sampleRate: 24_000, heard } }));
    });
  });
}

/** A session that answers sound with the frame. */
function echo(id: string, log: ChunkLog, frame: Uint8Array): Session {
  let at = 0;
  let listener: Listener | null = null;
  const session: Partial<Session> = {
    key: { app: 'bench', user: 'someone', id },
    claim: () => undefined,
    microphone: () => undefined,
    leave: () => undefined,
    media: () => {
      listener?.play({ n: 1, messageId: 'message', sampleRate: 24_000, at, frame });
      at += DOWN_BYTES / 2;
    },
    join: async (one) => {
      listener = one;
      const feed = {
        log,
        isAtRest: true,
        onRest: () => () => undefined,
        attach: () => () => undefined,
        readerMoved: () => undefined,
      };
      return {
        feed: feed as never,
        from: 0,
        resumed: true,
        newest: '',
        reset: null,
        opening: [],
        omitted: [],
        sounds: [],
        info: {
          received: [],
          open: [],
          running: null,
          model: { hears: true, sees: true, speaks: true },
          floor: null,
        },
      };
    },
  };
  return session as Session;
}

async function ours(server: Server): Promise<void> {
  const { BINARY, encodeBinary, LIMITS } =
    await load<typeof import('../../src/protocol/index.ts')>('protocol/index.js');
  const { ByteBudget, defaultBudget } =
    await load<typeof import('../../src/server/access/limits.ts')>('server/access/limits.js');
  const { systemClock } = await load<typeof import('../../src/server/clock.ts')>('server/clock.js');
  const { LargeJson } = await load<typeof import('../../src/server/large-json.ts')>('server/large-json.js');
  const { ChunkLog } = await load<typeof import('../../src/server/log/log.ts')>('server/log/log.js');
  const { BatchTimer, Heartbeat } =
    await load<typeof import('../../src/server/output/pace.ts')>('server/output/pace.js');
  const { SocketConnection } = await load<typeof import('../../src/server/socket/socket-connection.ts')>(
    'server/socket/socket-connection.js',
  );
  // A `Buffer`, because a session makes Buffers of the model's audio too.
  const frame = Buffer.from(
    encodeBinary({ kind: BINARY.audioDown, utterance: 1, sampleRate: 24_000, payload: PCM }),
  );
  const budget = new ByteBudget(defaultBudget());
  const clock = systemClock;
  const pacing = { window: new BatchTimer(clock, 12), keepAlive: new Heartbeat(clock, 15_000) };
  const large = new LargeJson();
  let count = 0;
  const sockets: Pick<Sockets, 'maxFrameBytes' | 'matches' | 'admitOrHandOn'> = {
    maxFrameBytes: LIMITS.bodyBytes,
    matches: () => true,
    admitOrHandOn: async () => ({
      accept(socket: SocketConnectionContext['socket']) {
        const id = String(++count);
        const connection = new SocketConnection({
          id,
          socket,
          session: echo(id, new ChunkLog('bench'), frame),
          identity: { user: 'someone' } as never,
          place: { last: null, sound: null },
          clock,
          pacing,
          logger: quiet,
          limits,
          protocolLimits: LIMITS,
          large,
          held: budget.open('someone'),
          arrivalMs: budget.limits.arrivalMs,
          isSignedOut: null,
          allow: { message: () => 0, answer: () => 0 },
          forTools: undefined,
          present: (messages) => messages,
          onEnd: () => undefined,
        });
        connection.open().catch(console.error);
        return connection;
      },
      drop: () => undefined,
    }),
  };
  attachWebSocket(server, { sockets } as unknown as Duologue);
}

/** A live model that answers sound with sound at once. */
class EchoModel extends BaseLlm {
  readonly nativeLive = true;

  constructor() {
    super({ model: 'echo' });
  }

  // biome-ignore lint/correctness/useYield: it is only live.
  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void> {
    throw new Error('This model is live.');
  }

  override async connect(): Promise<BaseLlmConnection> {
    const out = new AsyncQueue<LlmResponse>();
    const inlineData = { mimeType: 'audio/pcm;rate=24000', data: PCM64 };
    return {
      sendHistory: async () => undefined,
      sendContent: async () => undefined,
      sendRealtime: async () => out.push({ content: { role: 'model', parts: [{ inlineData }] } }),
      sendActivityStart: async () => undefined,
      sendActivityEnd: async () => undefined,
      receive: async function* () {
        yield* out;
      },
      close: async () => out.close(),
    };
  }
}

async function adk(server: Server): Promise<void> {
  const { createDuologue } = await load<typeof import('../../src/server/index.ts')>('server/index.js');
  const duologue = createDuologue({
    agent: new LlmAgent({ name: 'assistant', model: new EchoModel() }),
    logger: quiet,
    rateLimit: false,
    socketLimits: limits,
  });
  attachWebSocket(server, duologue);
}

const variants: Record<string, (server: Server) => void | Promise<void>> = { bare, json, ours, adk };
const server = createServer();
const open = new Set<Socket>();
server.on('connection', (socket) => {
  open.add(socket);
  socket.once('close', () => open.delete(socket));
});
await variants[variant]?.(server);
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));

let before = used();
process.on('message', (word) => {
  const now = used();
  if (word === 'begin') before = now;
  process.send?.({ cpuUs: now.cpuUs - before.cpuUs, bytes: now.bytes - before.bytes });
});
process.on('disconnect', () => process.exit());

function used(): { cpuUs: number; bytes: number } {
  const { user, system } = process.cpuUsage();
  let bytes = 0;
  for (const { bytesRead, bytesWritten } of open) bytes += bytesRead + bytesWritten;
  return { cpuUs: user + system, bytes };
}
