import type { UIMessage } from 'ai';
import type { HearingOptions } from './hearing.ts';
import { DuologueHttp, type HttpOptions } from './http.ts';
import { HttpSocket } from './http-socket.ts';
import type { Network } from './network.ts';
import type { TransportOptions } from './options.ts';
import { systemTimers } from './timers.ts';
import { DuologueTransport } from './transport.ts';

/** Options of the transport over HTTP. */
export interface DuologueSseTransportOptions extends TransportOptions, HttpOptions, HearingOptions {
  /** The session; else the chat's id is. */
  sessionId?: string | undefined;
  network?: Network | undefined;
}

/** A `ChatTransport` over HTTP: one post for what is said, one stream for all that is heard. It comes back after a drop. */
export class DuologueSseTransport<M extends UIMessage = UIMessage> extends DuologueTransport<M> {
  constructor(options: DuologueSseTransportOptions) {
    const http = new DuologueHttp(options);
    const { timers = systemTimers } = options;
    super({ ...options, dial: (session, last) => new HttpSocket(http, timers, session, last) });
  }
}
