import { describe, expect, it, onTestFinished } from 'vitest';
import { LargeJson } from '../../src/server/large-json.ts';
import { live } from '../support/live.ts';
import { text } from '../support/scripted-model.ts';

const bytesOf = (value: string) => new TextEncoder().encode(value);

function parser(): LargeJson {
  const large = new LargeJson();
  onTestFinished(() => large.close());
  return large;
}

describe('large JSON', () => {
  it('[C14] comes back with the last message only, of a post and of a frame', async () => {
    const large = parser();
    const messages = [
      { id: '1', junk: 'x'.repeat(1000) },
      { id: '2', parts: [{ type: 'text', text: 'é 漢 😀' }] },
    ];
    const post = { id: 's', trigger: 'submit-message', messages };
    expect(await large.parse(bytesOf(JSON.stringify(post)))).toEqual({ ...post, messages: [messages[1]] });
    const frame = { type: 'message', version: '1.0', data: { messages } };
    expect(await large.parse(bytesOf(JSON.stringify(frame)))).toEqual({
      ...frame,
      data: { messages: [messages[1]] },
    });
    for (const other of ['[1,2]', '"text"', 'null', '{"messages":7,"data":null}', '{"messages":[]}'])
      expect(await large.parse(bytesOf(other))).toEqual(JSON.parse(other));
  });

  it('[E1] that is none says so, and harms nobody after it', async () => {
    const large = parser();
    const bad = [large.parse(bytesOf('{"a":')), large.parse(bytesOf(''))];
    const good = large.parse(bytesOf('{"a":1}'));
    for (const one of bad) await expect(one).rejects.toThrow(SyntaxError);
    expect(await good).toEqual({ a: 1 });
  });

  it('[A1e] with too many values is too large; what is very deep is cut off', async () => {
    const large = parser();
    await expect(large.parse(bytesOf(`[${'1,'.repeat(131_072)}1]`))).rejects.toMatchObject({
      code: 'too_large',
    });
    const deep = await large.parse(bytesOf(`${'['.repeat(100_000)}${']'.repeat(100_000)}`));
    let depth = 0;
    for (let at = deep; Array.isArray(at); at = at[0]) depth++;
    expect(depth).toBe(200);
    const own = await large.parse(bytesOf('{"__proto__":{"isAdmin":true}}'));
    expect((own as { isAdmin?: boolean }).isAdmin).toBeUndefined();
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
  });

  it('[E4] that waits when the server closes is rejected, and so is any that comes later', async () => {
    const large = parser();
    const waiting = [1, 2, 3].map((n) => large.parse(bytesOf(`[${'[],'.repeat(20_000)}${n}]`)));
    const ends = Promise.allSettled(waiting);
    await large.close();
    const refused = { status: 'rejected', reason: expect.objectContaining({ code: 'shutting_down' }) };
    expect(await ends).toEqual([refused, refused, refused]);
    await expect(large.parse(bytesOf('{"a":1}'))).rejects.toMatchObject({ code: 'shutting_down' });
  });

  it('[E4] that does not fit into its thread ends the thread, and the next is read by another', async () => {
    const large = parser();
    const bomb = large.parse(bytesOf(`[${'{"":0},'.repeat(3_000_000)}0]`));
    const next = large.parse(bytesOf('{"a":1}'));
    await expect(bomb).rejects.toMatchObject({ code: 'too_large' });
    expect(await next).toEqual({ a: 1 });
  });
});

describe('a large message', () => {
  const before = { id: 'm-0', role: 'user', parts: [{ type: 'text', text: 'x'.repeat(600_000) }] };
  const messages = [before, { id: 'm-1', role: 'user', parts: [{ type: 'text', text: 'large' }] }];

  it('[C14] is answered over SSE, with everything before its last message passed over', async () => {
    const server = await live([[text('Read.')]]);
    const answer = await fetch(`${server.served.url}/stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messages }),
    });
    expect(await answer.text()).toContain('Read.');
    const broken = await fetch(`${server.served.url}/stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `${JSON.stringify({ messages })}}`,
    });
    expect([broken.status, await broken.json()]).toEqual([
      400,
      { error: { code: 'bad_json', message: expect.any(String), retryable: false } },
    ]);
  });

  it('[B2] is taken before what comes behind it over BIDI', async () => {
    const server = await live([[text('First.')], [text('Second.')]]);
    const socket = await server.connect('?session=order');
    socket.send('message', { messages });
    socket.say('small', 'm-2');
    socket.send('audio_control', { action: 'start' });
    await socket.done(2);
    const stored = await (await server.get('/sessions/order')).json();
    expect(
      stored.messages
        .filter(({ role }: { role: string }) => role === 'user')
        .map(({ id }: { id: string }) => id),
    ).toEqual(['m-1', 'm-2']);
    socket.socket.send(`{${' '.repeat(300_000)}`);
    expect(await socket.closed()).toBe(1002);
  });
});
