import { Readable } from 'node:stream';
import type { Reply } from './reply.ts';
import { ResponseReader } from './response-reader.ts';

/** A reply as the `Response` of the web: its body is read when the client reads. */
export function toResponse(reply: Reply): Response {
  const { status, headers, body } = reply;
  if (body instanceof Readable)
    return new Response(Readable.toWeb(body) as ReadableStream, { status, headers });
  if (!(body instanceof ResponseReader)) return new Response(body as BodyInit | null, { status, headers });
  const encoder = new TextEncoder();
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        body.onDrop = () => controller.error(new Error('The client did not read.'));
      },
      async pull(controller) {
        const text = await body.next();
        if (text === null) {
          if (!body.isDropped) controller.close();
          return;
        }
        controller.enqueue(encoder.encode(text));
      },
      cancel: () => body.close(),
    },
    { highWaterMark: 0 },
  );
  return new Response(stream, { status, headers });
}
