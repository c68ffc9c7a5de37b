import {
  type Chunk,
  type ErrorCode,
  type Message,
  ProtocolError,
  type SessionInfo,
} from '../../protocol/index.ts';
import type { Joined, Listener, Response } from '../home/home.ts';
import type { ResponseReader } from './response-reader.ts';

/** One that watches a session over SSE: it hears everything that is said, has never the floor, and plays nothing. */
export class Watcher implements Listener {
  readonly id: string;
  readonly watches = 'always';
  private reader: ResponseReader | null = null;
  private why: ProtocolError | null = null;
  /** What only this client is told, until it is. */
  private readonly waiting: Chunk[] = [];

  constructor(id: string) {
    this.id = id;
  }

  /** What it reads: where it begins, as a socket would be told, and everything behind that. */
  response(
    sessionId: string,
    joined: Joined,
    present: (messages: Message[]) => Message[],
    nodes: Pick<SessionInfo, 'nodes'>,
  ): Response {
    const { feed, from, resumed, newest, reset, opening, omitted, info } = joined;
    const { epoch } = feed.log;
    const first: Chunk[] = [
      {
        type: 'data-session',
        data: { sessionId, connectionId: this.id, epoch, resumed, newest, ...info, ...nodes },
        transient: true,
      },
      ...(reset
        ? [
            {
              type: 'data-reset' as const,
              data: { ...reset, messages: present(reset.messages) },
              transient: true,
            },
          ]
        : []),
      ...opening,
    ];
    this.waiting.unshift(...first);
    return { feed, from, omitted, isWatched: true, present, aside: () => this.waiting.splice(0) };
  }

  /** Its client reads from now on. */
  follow(reader: ResponseReader): void {
    this.reader = reader;
    if (this.why) reader.cut(this.why);
  }

  end(code: ErrorCode, message: string): void {
    this.why = new ProtocolError(code, message);
    this.reader?.cut(this.why);
  }

  told(error: ProtocolError): void {
    this.waiting.push({ type: 'data-error', data: error.toWire(), transient: true });
    this.reader?.note();
  }

  play(): void {}

  hush(): void {}
}
