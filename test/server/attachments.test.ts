import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Message } from '../../src/protocol/index.ts';
import { createMemoryStore, type DuologueOptions } from '../../src/server/index.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { harness, say } from '../support/harness.ts';
import { live } from '../support/live.ts';
import { partial, type ScriptedTurn, text } from '../support/scripted-model.ts';
import { png } from './support/images.ts';
import { latch } from './support/listen.ts';

const ALL = ['image/*', 'application/pdf', 'text/*', 'application/json', 'audio/*', 'application/x-own'];
const answers = () => Array.from({ length: 20 }, () => [text('Ok.')]);
const server = (options: Partial<DuologueOptions> = {}) =>
  harness(answers(), [], { attachments: ALL, rateLimit: false, ...options });

const latin = (words: string) => Buffer.from(words, 'latin1');
const pdf = latin('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n');
const url = (bytes: Uint8Array, mediaType: string) =>
  `data:${mediaType};base64,${Buffer.from(bytes).toString('base64')}`;
const filePart = (bytes: Uint8Array, mediaType: string, filename = 'a') => ({
  type: 'file',
  mediaType,
  filename,
  url: url(bytes, mediaType),
});
const body = (...parts: object[]) => ({ id: 'chat-1', messages: [{ id: 'u1', role: 'user', parts }] });

async function refusal(made: ReturnType<typeof server>, ...parts: object[]) {
  const { status, json } = await made.post(body(...parts));
  const { code, message } = (json as { error: { code: string; message: string } }).error;
  return { status, code, message };
}

describe('a file that the server accepts', () => {
  it.each<[string, Uint8Array, string]>([
    ['a PDF', pdf, 'application/pdf'],
    ['a PDF with something before its header', Buffer.concat([latin('\n\n'), pdf]), 'application/pdf'],
    ['plain text', Buffer.from('Hello, 世界'), 'text/plain'],
    ['CSV', Buffer.from('a,b\n'), 'text/csv'],
    ['JSON', Buffer.from('{}'), 'application/json'],
    ['WAV', latin('RIFF\0\0\0\0WAVEfmt '), 'audio/wav'],
    ['MP3 with a tag', latin('ID3\x03\0'), 'audio/mpeg'],
    ['MP3 without a tag', latin('\xff\xfb\x90'), 'audio/mpeg'],
    ['Ogg', latin('OggS\0'), 'audio/ogg'],
    ['FLAC', latin('fLaC\0'), 'audio/flac'],
    ['M4A', latin('\0\0\0 ftypM4A '), 'audio/mp4'],
    ['WebM', latin('\x1a\x45\xdf\xa3'), 'audio/webm'],
    ['GIF', latin('GIF89a\x01\0\x01\0'), 'image/gif'],
    ['PNG', png, 'image/png'],
    ['a type without a signature', latin('\0\x01'), 'application/x-own'],
  ])('[A3c] %s reaches the model, is stored, and served by its address', async (_, bytes, mediaType) => {
    const made = server();
    expect(
      (await made.post(body(filePart(bytes, mediaType, 'a.bin'), { type: 'text', text: 'Read.' }))).status,
    ).toBe(200);
    const data = Buffer.from(bytes).toString('base64');
    expect(made.model.lastContents.at(-1)?.parts?.[0]).toEqual({
      inlineData: { mimeType: mediaType, data, displayName: 'a.bin' },
    });
    const { messages } = (await (await made.get('/sessions/chat-1')).json()) as { messages: Message[] };
    const [file] = messages[0]?.parts ?? [];
    if (file?.type !== 'file') throw new Error('no file');
    expect(file).toMatchObject({ mediaType, filename: 'a.bin' });
    const served = await made.get(new URL(file.url).pathname);
    expect(Buffer.from(await served.arrayBuffer()).equals(Buffer.from(bytes))).toBe(true);
    const isShown = /^(?:image|audio)\//.test(mediaType);
    expect(served.headers.get('content-disposition')).toBe(isShown ? 'inline' : 'attachment');
    expect(served.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
  });

  it('[A3c] a declared type may have parameters and capitals', async () => {
    const made = server();
    const part = { ...filePart(Buffer.from('a'), 'text/plain'), mediaType: 'Text/CSV; charset=utf-8' };
    expect((await made.post(body(part))).status).toBe(200);
    expect(made.model.lastContents.at(-1)?.parts?.[0]?.inlineData?.mimeType).toBe('text/csv');
  });

  it('[A3c] over a socket reaches the model too, and again in the next turn after a restart', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'duologue-attachments-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const first = await live(answers(), [], { attachments: ALL, store: await openSqliteStore(folder) });
    const socket = await first.connect('?session=chat-1');
    socket.send('message', body(filePart(pdf, 'application/pdf', 'a.pdf'), { type: 'text', text: 'Read.' }));
    await socket.done();
    const inlineData = { mimeType: 'application/pdf', data: pdf.toString('base64'), displayName: 'a.pdf' };
    expect(first.model.lastContents.at(-1)?.parts?.[0]).toEqual({ inlineData });
    await socket.close();
    await first.served.close();
    const again = server({ store: await openSqliteStore(folder) });
    onTestFinished(() => again.duologue.close());
    await again.post({ ...say('And now?'), id: 'chat-1' });
    expect(again.model.lastContents[0]?.parts?.[0]).toEqual({ inlineData });
  });

  it('[A3a] is listed in data-session, with the limits; without sight there are no pictures', async () => {
    const { connect } = await live([], [], { attachments: ALL });
    const session = await (await connect('?session=chat-1')).chunk('data-session');
    expect(session.data.attachments).toEqual({
      types: ALL,
      files: 4,
      imageBytes: 5_242_880,
      fileBytes: 10_485_760,
    });
    const bare = await live([], [], {});
    const plain = await (await bare.connect('?session=chat-1')).chunk('data-session');
    expect(plain.data.attachments?.types).toEqual(['image/png', 'image/jpeg', 'image/webp']);
  });

  it('beyond the bytes of one request to the model is replaced by its name', async () => {
    const made = server({ history: { maxImageBytes: 100 } });
    await made.post(body(filePart(Buffer.from('x'.repeat(90)), 'text/csv', 'old.csv')));
    const part = filePart(Buffer.from('y'.repeat(90)), 'text/csv', 'new.csv');
    await made.post({ id: 'chat-1', messages: [{ id: 'u2', role: 'user', parts: [part] }] });
    const [old, , fresh] = made.model.lastContents.map(({ parts }) => parts?.[0]);
    expect(old).toEqual({ text: '[text omitted: old.csv, 1 kB]' });
    expect(fresh?.inlineData?.displayName).toBe('new.csv');
  });
});

describe('attacks with attachments', () => {
  it.each<[string, Uint8Array, string]>([
    ['a PDF that is none', latin('GIF89a'), 'application/pdf'],
    ['a page that claims to be a PDF', Buffer.from('<html>'), 'application/pdf'],
    ['sound that is none', Buffer.from('hello'), 'audio/wav'],
    ['a program as text', latin('MZ\x90\0\x03'), 'text/plain'],
    ['text that is not UTF-8', latin('caf\xe9'), 'text/csv'],
    ['an empty file', new Uint8Array(), 'text/plain'],
  ])('[A3b] %s is bad_file, in words', async (_, bytes, mediaType) => {
    const made = server();
    const { status, code, message } = await refusal(made, filePart(bytes, mediaType));
    expect([status, code]).toEqual([422, 'bad_file']);
    expect(message).toContain(mediaType);
    expect((await made.get('/sessions/chat-1')).status).toBe(404);
  });

  it('[A3b] a file that is not base64 is bad_file', async () => {
    const part = { type: 'file', mediaType: 'text/plain', url: 'data:text/plain;base64,!!!!' };
    expect((await refusal(server(), part)).code).toBe('bad_file');
  });

  it.each([
    ['application/zip', latin('PK\x03\x04')],
    ['text', Buffer.from('a')],
    ['', Buffer.from('a')],
    ['application/pdf/../text', pdf],
  ])('[A3] the type %j is not accepted, and the text says what is', async (mediaType, bytes) => {
    const { status, code, message } = await refusal(
      server({ attachments: ['application/pdf', 'text/*'] }),
      filePart(bytes, mediaType),
    );
    expect([status, code]).toEqual([415, 'unsupported_media']);
    expect(message).toContain('send PDF or text/*');
  });

  it('[A3] a picture is not accepted where none is listed, and no file where nothing is', async () => {
    const noPictures = server({ attachments: ['text/*'] });
    expect(await refusal(noPictures, filePart(png, 'image/png'))).toMatchObject({
      code: 'unsupported_media',
      message: 'Images are not accepted; send text/*.',
    });
    expect((await refusal(server({ attachments: [] }), filePart(pdf, 'application/pdf'))).message).toContain(
      'send no file',
    );
  });

  it('[A3] unless the option says otherwise, only pictures are accepted', async () => {
    const made = harness(answers());
    expect((await refusal(made, filePart(pdf, 'application/pdf'))).message).toBe(
      'Files of type "application/pdf" are not accepted; send PNG, JPEG or WebP.',
    );
  });

  it('[A1] a file above its limit is too_large, whatever the limit of images is', async () => {
    const made = server({ limits: { imageBytes: 1000, fileBytes: 20, files: 2 } });
    const large = filePart(Buffer.from('x'.repeat(21)), 'text/plain');
    const small = filePart(Buffer.from('x'.repeat(20)), 'text/plain');
    expect(await refusal(made, large)).toMatchObject({
      status: 413,
      code: 'too_large',
      message: expect.stringContaining('20 bytes'),
    });
    expect((await refusal(made, small, small, small)).code).toBe('too_large');
    expect((await made.post(body(small))).status).toBe(200);
  });

  it('[S12d] a page and a picture with a script are served so that nothing of them runs', async () => {
    const made = server();
    const page = filePart(Buffer.from('<script>alert(1)</script>'), 'text/html', '../../x.html');
    const svg = filePart(Buffer.from('<svg onload="alert(1)"/>'), 'image/svg+xml', 'x.svg');
    await made.post(body(page, svg));
    const { messages } = (await (await made.get('/sessions/chat-1')).json()) as { messages: Message[] };
    const files = messages[0]?.parts.filter((part) => part.type === 'file') ?? [];
    expect(files).toHaveLength(2);
    for (const file of files) {
      expect(new URL(file.url).pathname).toMatch(/^\/sessions\/chat-1\/files\/[0-9a-f]{32}$/);
      const { headers } = await made.get(new URL(file.url).pathname);
      expect(headers.get('content-disposition')).toBe('attachment');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
    }
  });

  it('[A4] the file of another user does not exist', async () => {
    const authenticate = (request: Request) => request.headers.get('x-user');
    const made = server({ authenticate, store: createMemoryStore() });
    const alice = { 'x-user': 'alice' };
    await made.post(body(filePart(pdf, 'application/pdf')), alice);
    const { messages } = (await (await made.get('/sessions/chat-1', alice)).json()) as {
      messages: Message[];
    };
    const [file] = messages[0]?.parts ?? [];
    const path = file?.type === 'file' ? new URL(file.url).pathname : '';
    expect((await made.get(path, alice)).status).toBe(200);
    expect((await made.get(path, { 'x-user': 'mallory' })).status).toBe(404);
  });

  it.each([['pdf'], ['APPLICATION/PDF'], ['*/*'], ['text/'], [7]])(
    'the entry %j of the option is refused at start',
    (entry) => {
      expect(() => server({ attachments: [entry as string] })).toThrow(
        'the option "attachments" must be a list of media types',
      );
    },
  );
});

describe('a message with a picture that is sent twice', () => {
  const picture = (pixels: string) => filePart(Buffer.concat([png, latin(pixels)]), 'image/png');
  /** The pixels of the pictures in the newest content of each request to the model. */
  const seen = ({ model }: Pick<ReturnType<typeof server>, 'model'>) =>
    model.requests.map(({ contents }) =>
      contents.at(-1)?.parts?.flatMap(({ inlineData }) =>
        inlineData
          ? [
              Buffer.from(inlineData.data ?? '', 'base64')
                .subarray(png.length)
                .toString('latin1'),
            ]
          : [],
      ),
    );
  /** A server whose agent is busy until `open` is called, and a socket that sent it a first message. */
  async function busy() {
    const { open, opened } = latch();
    const first: ScriptedTurn = async function* () {
      yield partial('Wait');
      await opened;
      yield text('Wait.');
    };
    const made = await live([first, ...answers()], [], { driver: 'turn', rateLimit: false });
    const socket = await made.connect('?session=chat-1');
    socket.say('go');
    await socket.chunk('text-delta');
    const send = (pixels: string) => socket.send('message', body(picture(pixels)));
    return { made, socket, open, send };
  }

  it('over a socket is answered once, but again when its picture is another one', async () => {
    const { made, socket, open, send } = await busy();
    send('cat');
    send('cat');
    send('dog');
    open();
    await socket.done(3);
    send('dog');
    socket.say('more');
    await socket.done(4);
    expect(seen(made)).toEqual([[], ['cat'], ['dog'], []]);
  });

  it.each([
    ['answered once', 'cat', [[], ['cat']]],
    ['two messages when the pictures differ', 'dog', [[], ['cat'], ['dog']]],
  ])('over a socket, where it waits, and then with POST is %s', async (_, pixels, expected) => {
    const { made, socket, open, send } = await busy();
    send('cat');
    // Frames are handled in order, so the message is in the queue when the ping is answered.
    socket.send('ping', { timestamp: 1 });
    await socket.until((all) => all.some(({ kind }) => kind === 'raw'), 'pong');
    const posted = made.post(body(picture(pixels)));
    open();
    expect((await posted).status).toBe(200);
    expect(seen(made)).toEqual(expected);
  });
});
