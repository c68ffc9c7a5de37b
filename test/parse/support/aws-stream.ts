import { crc32 } from '../../../src/parse/aws-event-stream.ts';

/** One message of an AWS event stream, made by hand. */
function awsMessage(headers: Record<string, string>, payload: unknown): Uint8Array {
  const utf8 = new TextEncoder();
  const body = utf8.encode(JSON.stringify(payload));
  const head = Object.entries(headers).flatMap(([name, value]) => {
    const [n, v] = [utf8.encode(name), utf8.encode(value)];
    return [n.length, ...n, 7, v.length >> 8, v.length & 255, ...v];
  });
  const message = new Uint8Array(16 + head.length + body.length);
  const view = new DataView(message.buffer);
  view.setUint32(0, message.length);
  view.setUint32(4, head.length);
  view.setUint32(8, crc32(message.subarray(0, 8)));
  message.set(head, 12);
  message.set(body, 12 + head.length);
  view.setUint32(message.length - 4, crc32(message.subarray(0, -4)));
  return message;
}

/** Decoded events as the bytes that AWS would send. */
export function aws(events: Record<string, unknown>[]): Uint8Array {
  const messages = events.map((event) => {
    const [name = '', payload] = Object.entries(event)[0] ?? [];
    const kind = name.endsWith('Exception') ? 'exception' : 'event';
    return awsMessage(
      { ':message-type': kind, [`:${kind}-type`]: name, ':content-type': 'application/json' },
      payload,
    );
  });
  return Uint8Array.from(messages.flatMap((message) => [...message]));
}
