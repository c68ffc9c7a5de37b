import { WebSocket } from 'ws';
import type { WebSocketLike } from '../../../src/client/index.ts';

/** Where a connection breaks, once: after a block of the server, before a frame of the client leaves, or right after. */
export type Cut = { after: 'block' | 'unsent' | 'sent'; number: number };

/** WebSockets that break once, at a given place; what the server put into one frame arrives block by block. */
export function cutting(cut: Cut): {
  WebSocket: new (url: string, protocols: string[]) => WebSocketLike;
  counts: { block: number; frame: number; sockets: number };
  hasCut: () => boolean;
} {
  const counts = { block: 0, frame: 0, sockets: 0 };
  let hasCut = false;
  class CutSocket implements WebSocketLike {
    binaryType = 'arraybuffer';
    onmessage: ((event: never) => void) | null = null;
    onclose: ((event: never) => void) | null = null;
    onerror: ((event: never) => void) | null = null;
    private readonly socket: WebSocket;
    private isLost = false;

    constructor(url: string, protocols: string[]) {
      counts.sockets++;
      this.socket = new WebSocket(url, protocols);
      this.socket.on('message', (data: Buffer) => this.take(data.toString('utf8')));
      this.socket.on('error', () => undefined);
      this.socket.on('close', (code, reason) => this.end(code, reason.toString()));
    }

    get bufferedAmount(): number {
      return this.socket.bufferedAmount;
    }

    send(data: string): void {
      if (this.isLost) return;
      const isPing = data.includes('"ping"');
      if (!isPing) counts.frame++;
      const isHere = !hasCut && !isPing && counts.frame === cut.number;
      if (isHere && cut.after === 'unsent') return this.break();
      this.socket.send(data, () => {
        if (isHere && cut.after === 'sent') this.break();
      });
    }

    close(code?: number): void {
      this.socket.close(code);
    }

    private take(text: string): void {
      for (const block of text.startsWith('{') ? [text] : text.split(/(?<=\n\n)/)) {
        if (this.isLost) return;
        this.onmessage?.({ data: block } as never);
        // Pongs are not counted: their number depends on timing, and the place of a cut must not.
        if (block.startsWith('{')) continue;
        counts.block++;
        if (!hasCut && cut.after === 'block' && counts.block === cut.number) this.break();
      }
    }

    private break(): void {
      hasCut = true;
      this.socket.terminate();
      this.end(1006, '');
    }

    private end(code: number, reason: string): void {
      if (this.isLost) return;
      this.isLost = true;
      this.onclose?.({ code, reason } as never);
    }
  }
  return { WebSocket: CutSocket, counts, hasCut: () => hasCut };
}

/** The same for the stock transport of `ai` 7, which needs the whole WebSocket interface; each server frame is a block. */
export function cuttingStock(cut: Cut): {
  WebSocket: new (url: string, protocols: string[]) => WebSocketLike;
  counts: { block: number; frame: number; sockets: number };
  hasCut: () => boolean;
} {
  const counts = { block: 0, frame: 0, sockets: 0 };
  let hasCut = false;
  class CutSocket {
    onopen: (() => void) | null = null;
    onmessage: ((event: { data: string }) => void) | null = null;
    onclose: ((event: { code: number; reason: string }) => void) | null = null;
    onerror: (() => void) | null = null;
    private readonly socket: WebSocket;
    private isLost = false;

    constructor(url: string | URL) {
      counts.sockets++;
      this.socket = new WebSocket(url);
      this.socket.on('open', () => this.onopen?.());
      this.socket.on('message', (data: Buffer) => this.take(data.toString('utf8')));
      this.socket.on('error', () => undefined);
      this.socket.on('close', (code, reason) => this.end(code, reason.toString()));
    }

    get readyState(): number {
      return this.isLost ? 3 : this.socket.readyState;
    }

    get bufferedAmount(): number {
      return this.socket.bufferedAmount;
    }

    send(data: string): void {
      if (this.isLost) return;
      // Connections that the page opens after the cut are not cut again.
      counts.frame++;
      const isHere = !hasCut && counts.frame === cut.number;
      if (isHere && cut.after === 'unsent') return this.break();
      this.socket.send(data, () => {
        if (isHere && cut.after === 'sent') this.break();
      });
    }

    close(code?: number): void {
      this.socket.close(code);
    }

    private take(text: string): void {
      if (this.isLost) return;
      this.onmessage?.({ data: text });
      counts.block++;
      if (!hasCut && cut.after === 'block' && counts.block === cut.number) this.break();
    }

    private break(): void {
      hasCut = true;
      this.socket.terminate();
      this.end(1006, '');
    }

    private end(code: number, reason: string): void {
      if (this.isLost) return;
      this.isLost = true;
      this.onclose?.({ code, reason });
    }
  }
  return { WebSocket: CutSocket as never, counts, hasCut: () => hasCut };
}

/** A `fetch` whose streams break once, after so many blocks. */
export function cuttingFetch(number: number): {
  fetch: typeof fetch;
  counts: { block: number };
  hasCut: () => boolean;
} {
  const counts = { block: 0 };
  let hasCut = false;
  return {
    counts,
    hasCut: () => hasCut,
    async fetch(input, init) {
      const response = await fetch(input, init);
      if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
        return response;
      }
      const reader = response.body.getReader();
      const decoder = new TextDecoder();
      const encoder = new TextEncoder();
      let rest: string[] = [];
      const body = new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            while (rest.length === 0) {
              const { value, done } = await reader.read();
              if (done) return controller.close();
              rest = decoder.decode(value, { stream: true }).split(/(?<=\n\n)/);
            }
            if (!hasCut && counts.block === number) {
              hasCut = true;
              await reader.cancel();
              return controller.error(new TypeError('terminated'));
            }
            const block = rest.shift() ?? '';
            if (block.endsWith('\n\n')) counts.block++;
            controller.enqueue(encoder.encode(block));
          },
          cancel: () => reader.cancel(),
        },
        { highWaterMark: 0 },
      );
      return new Response(body, { status: response.status, headers: response.headers });
    },
  };
}
