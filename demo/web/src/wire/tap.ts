import type { WireRecorder } from './recorder.ts';

type SocketClass = new (url: string, protocols: string[]) => WebSocket;

/** A `fetch` that records requests and responses unchanged. It does not record headers, because they may contain keys. */
export function tapFetch(recorder: WireRecorder, send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const channel = recorder.newChannel();
    const url = new URL(input instanceof Request ? input.url : input, location.href);
    recorder.record({
      channel,
      type: 'request',
      method: init?.method ?? 'GET',
      path: url.pathname + url.search,
      body: typeof init?.body === 'string' ? init.body : null,
    });
    const ended = (reason: string) =>
      recorder.record({ channel, type: 'close', direction: 'in', code: null, reason });
    const response = await send(input, init).catch((error: unknown) => {
      ended(error instanceof Error ? error.message : String(error));
      throw error;
    });
    const contentType = response.headers.get('content-type') ?? '';
    recorder.record({ channel, type: 'response', status: response.status, contentType });
    if (!response.body || !/json|event-stream/.test(contentType)) {
      ended('');
      return response;
    }
    const { status, statusText, headers } = response;
    return new Response(tapBody(recorder, channel, response.body, ended), { status, statusText, headers });
  };
}

function tapBody(
  recorder: WireRecorder,
  channel: number,
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  ended: (reason: string) => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { value, done } = await reader.read();
          if (done) {
            ended('');
            return controller.close();
          }
          const text = decoder.decode(value, { stream: true });
          if (text !== '') recorder.record({ channel, type: 'text', direction: 'in', text });
          controller.enqueue(value);
        } catch (error) {
          ended(error instanceof Error ? error.message : String(error));
          controller.error(error);
        }
      },
      cancel(reason) {
        recorder.record({ channel, type: 'close', direction: 'out', code: null, reason: '' });
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** A `WebSocket` that records sent and received frames unchanged. */
export function tapSocket(recorder: WireRecorder, Socket: SocketClass): SocketClass {
  return class extends Socket {
    private readonly channel = recorder.newChannel();
    private hasEnded = false;

    constructor(url: string, protocols: string[]) {
      super(url, protocols);
      const { channel } = this;
      const { pathname, search } = new URL(url);
      recorder.record({ channel, type: 'open', path: pathname + search });
      this.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) => {
        if (typeof data === 'string') recorder.record({ channel, type: 'text', direction: 'in', text: data });
        else recorder.record({ channel, type: 'binary', direction: 'in', size: data.byteLength });
      });
      this.addEventListener('close', ({ code, reason }) => this.ended('in', code, reason));
    }

    override send(data: string | ArrayBufferView<ArrayBuffer>): void {
      const { channel } = this;
      if (typeof data === 'string') recorder.record({ channel, type: 'text', direction: 'out', text: data });
      else recorder.record({ channel, type: 'binary', direction: 'out', size: data.byteLength });
      super.send(data);
    }

    override close(code?: number, reason?: string): void {
      this.ended('out', code ?? null, reason ?? '');
      super.close(code, reason);
    }

    private ended(direction: 'in' | 'out', code: number | null, reason: string): void {
      if (this.hasEnded) return;
      this.hasEnded = true;
      recorder.record({ channel: this.channel, type: 'close', direction, code, reason });
    }
  };
}
