import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BaseArtifactService, type BaseTool, FunctionTool, InMemoryArtifactService } from '@google/adk';
import type { Part } from '@google/genai';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import type { Chunk, Message } from '../../src/protocol/index.ts';
import { createMemoryStore, type DuologueOptions, type Store } from '../../src/server/index.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { StateConflict } from '../../src/server/store/store.ts';
import { type Harness, harness, say } from '../support/harness.ts';
import { live } from '../support/live.ts';
import { call, text } from '../support/scripted-model.ts';

type FileChunk = Extract<Chunk, { type: 'file' }>;

const base64 = (words: string) => Buffer.from(words).toString('base64');
const csv: Part = { inlineData: { mimeType: 'text/csv', data: base64('a,b\n1,2\n') } };

/** A tool that saves an artifact. */
const saver = (name: string, artifact: Part = csv, more: { needsApproval?: boolean } = {}) =>
  defineTool({
    name: 'save',
    description: 'Saves.',
    ...more,
    execute: async (_input, context) => ({ version: await context.saveArtifact(name, artifact) }),
  });

/** A tool that saves an artifact, and then fails. */
const failing = (more: { needsApproval?: boolean } = {}) =>
  defineTool({
    name: 'save',
    description: 'Saves, and fails.',
    ...more,
    execute: async (_input, context) => {
      await context.saveArtifact('a.csv', csv);
      throw new Error('The disk is full.');
    },
  });

/** A tool that saves an artifact, and changes the state. */
const changing = (more: { needsApproval?: boolean } = {}) =>
  defineTool({
    name: 'save',
    description: 'Saves, and counts.',
    ...more,
    execute: async (_input, context) => {
      context.state.set('user:count', 1);
      return { version: await context.saveArtifact('a.csv', csv) };
    },
  });

/** A store in which another call has changed `user:count` when an event changes it. */
function conflictingStore(): Store {
  const store = createMemoryStore();
  return {
    ...store,
    async appendEvent(...given) {
      if (given[1].actions?.stateDelta?.['user:count'] !== undefined) throw new StateConflict('user:count');
      return store.appendEvent(...given);
    },
  };
}

/** A server whose agent calls the tool with each message. */
const server = (tool: BaseTool, options: Partial<DuologueOptions> = {}) =>
  harness(
    Array.from({ length: 6 }, (_, index) =>
      index % 2 === 0 ? [call('save', {}, `call-${index}`)] : [text('Saved.')],
    ),
    [tool],
    options,
  );

const filesIn = (chunks: readonly Chunk[]) =>
  chunks.filter((chunk): chunk is FileChunk => chunk.type === 'file');

/** Saves, and returns the answer to a request for the file. */
async function served(artifact: Part, name = 'a'): Promise<Response> {
  const made = server(saver(name, artifact));
  const [file] = filesIn((await made.post(say('go'))).chunks);
  return made.get(pathOf(file?.url ?? ''));
}

const pathOf = (url: string) => url.replace('http://localhost', '');

async function messagesOf(made: Harness, id = 'chat-1'): Promise<Message[]> {
  return (await (await made.get(`/sessions/${id}`)).json()).messages;
}

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'duologue-artifacts-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

describe('a saved artifact', () => {
  it('[S12b] [S12c] is a file chunk after the output, a part of the stored message, and leads to its version', async () => {
    const made = server(saver('the report.csv'));
    const first = await made.post(say('go'));
    const second = await made.post(say('again'));
    const kinds = first.chunks.map(({ type }) => type).filter((type) => !type.startsWith('data-'));
    expect(kinds.indexOf('file')).toBe(kinds.indexOf('tool-output-available') + 1);
    const files = [...filesIn(first.chunks), ...filesIn(second.chunks)];
    expect(files).toEqual(
      [0, 1].map((version) => ({
        type: 'file',
        url: `http://localhost/sessions/chat-1/artifacts?name=the+report.csv&version=${version}`,
        mediaType: 'text/csv',
        providerMetadata: { duologue: { filename: 'the report.csv', version, bytes: 8 } },
      })),
    );
    const [, answer] = await messagesOf(made);
    expect(answer?.parts.map(({ type }) => type)).toEqual(['tool-save', 'file', 'text']);
    expect(answer?.parts[1]).toEqual(files[0]);
    const reply = await made.get(pathOf(files[1]?.url ?? ''));
    expect([reply.status, await reply.text()]).toEqual([200, 'a,b\n1,2\n']);
  });

  it.each([
    ['a tool that needs approval', saver('a.csv', csv, { needsApproval: true })],
    [
      'a native tool of ADK',
      new FunctionTool({
        name: 'save',
        description: 'Saves.',
        parameters: z.object({}),
        execute: async (_input, context) => ({ version: await context?.saveArtifact('a.csv', csv) }),
      }),
    ],
  ])('[S12b] over a socket, of %s', async (_, tool) => {
    const { connect, get } = await live([[call('save', {}, 'call-1')], [text('Saved.')]], [tool], {
      approvalTimeoutMs: null,
    });
    const socket = await connect('?session=chat-1');
    socket.say('go');
    if (tool instanceof FunctionTool === false) {
      await socket.chunk('finish-step');
      socket.send('tool_result', { toolCallId: 'call-1', status: 'approved' });
    }
    await socket.done();
    const file = await socket.chunk('file');
    expect(file).toMatchObject({
      mediaType: 'text/csv',
      providerMetadata: { duologue: { filename: 'a.csv', version: 0, bytes: 8 } },
    });
    const { messages } = (await (await get('/sessions/chat-1')).json()) as { messages: Message[] };
    expect(messages[1]?.parts.map(({ type }) => type)).toEqual(['tool-save', 'file', 'text']);
    expect(await (await fetch(file.url)).text()).toBe('a,b\n1,2\n');
  });

  it.each([
    ['a tool', failing(), false],
    ['a tool that needs approval', failing({ needsApproval: true }), true],
    [
      'a native tool of ADK',
      new FunctionTool({
        name: 'save',
        description: 'Saves, and fails.',
        parameters: z.object({}),
        execute: async (_input, context) => {
          await context?.saveArtifact('a.csv', csv);
          throw new Error('The disk is full.');
        },
      }),
      false,
    ],
    ['a tool whose changes conflict', changing(), false, conflictingStore],
    [
      'a tool that needs approval and whose changes conflict',
      changing({ needsApproval: true }),
      true,
      conflictingStore,
    ],
  ] as const)(
    '[S12b] is shown when %s fails after it, in both modes',
    async (_, tool, needsApproval, makeStore: () => Store = createMemoryStore) => {
      const failed = { type: 'tool-output-error', toolCallId: 'call-0' };
      const file = {
        type: 'file',
        mediaType: 'text/csv',
        url: expect.stringContaining('name=a.csv&version=0'),
      };
      const shown = (chunks: readonly Chunk[]) =>
        chunks.filter(({ type }) => type === 'tool-output-error' || type === 'file');
      const made = server(tool, { store: makeStore() });
      let { chunks } = await made.post(say('go'));
      if (needsApproval) {
        const approval = {
          id: (chunks.find(({ type }) => type === 'tool-approval-request') as { approvalId: string })
            .approvalId,
          approved: true,
        };
        const part = {
          type: 'tool-save',
          toolCallId: 'call-0',
          state: 'approval-responded',
          input: {},
          approval,
        };
        const { messages } = await (await made.get('/sessions/chat-1')).json();
        ({ chunks } = await made.post({ id: 'chat-1', messages: [{ ...messages[1], parts: [part] }] }));
      }
      expect(shown(chunks)).toMatchObject([failed, file]);
      expect((await messagesOf(made))[1]?.parts.map(({ type }) => type)).toEqual([
        'tool-save',
        'file',
        'text',
      ]);

      const { connect, get } = await live([[call('save', {}, 'call-0')], [text('Saved.')]], [tool], {
        approvalTimeoutMs: null,
        store: makeStore(),
      });
      const socket = await connect('?session=chat-1');
      socket.say('go');
      if (needsApproval) {
        await socket.chunk('finish-step');
        socket.send('tool_result', { toolCallId: 'call-0', status: 'approved' });
      }
      await socket.done();
      expect(shown(socket.chunks)).toMatchObject([failed, file]);
      const { messages } = (await (await get('/sessions/chat-1')).json()) as { messages: Message[] };
      expect(messages[1]?.parts.map(({ type }) => type)).toEqual(['tool-save', 'file', 'text']);
    },
  );

  it('[S12c] is there after a restart, with its message', async () => {
    const path = folder();
    const made = server(saver('a.csv'), { store: await openSqliteStore(path) });
    const [file] = filesIn((await made.post(say('go'))).chunks);
    await made.duologue.close();
    const again = server(saver('a.csv'), { store: await openSqliteStore(path) });
    onTestFinished(() => again.duologue.close());
    expect((await messagesOf(again))[1]?.parts[1]).toEqual(file);
    expect(await (await again.get(pathOf(file?.url ?? ''))).text()).toBe('a,b\n1,2\n');
    // The next version continues the count.
    expect(filesIn((await again.post(say('more'))).chunks)[0]?.providerMetadata?.duologue).toMatchObject({
      version: 1,
    });
  });

  it('[S12b] of a message that its process did not store is added to it from the history', async () => {
    const store = createMemoryStore();
    const putMessage = store.putMessage.bind(store);
    // The process dies after the output is in the history, and before the message is stored again.
    const dying = {
      ...store,
      putMessage: async (...given: Parameters<typeof putMessage>) => {
        if (given[1].parts.some((part) => part.type === 'file')) return;
        await putMessage(...given);
      },
    };
    const made = server(saver('a.csv', csv, { needsApproval: true }), { store: dying });
    const { chunks } = await made.post(say('go'));
    const start = chunks.find((chunk) => chunk.type === 'start');
    const request = chunks.find((chunk) => chunk.type === 'tool-approval-request');
    if (!request) throw new Error('no request');
    const { toolCallId, approvalId: id } = request;
    const part = {
      type: 'tool-save',
      toolCallId,
      state: 'approval-responded',
      approval: { id, approved: true },
    };
    await made.post({
      id: 'chat-1',
      messages: [{ id: start?.type === 'start' ? start.messageId : '', role: 'assistant', parts: [part] }],
    });
    const again = server(saver('a.csv'), { store });
    const [, answer] = await messagesOf(again);
    expect(answer?.parts.map(({ type }) => type)).toEqual(['tool-save', 'file', 'text']);
  });

  it('is found by other tools, through the context of ADK', async () => {
    const seen: unknown[] = [];
    const use = defineTool({
      name: 'save',
      description: 'Uses artifacts.',
      execute: async (_input, context) => {
        await context.saveArtifact('a.csv', csv);
        await context.saveArtifact('b.txt', { text: 'two' });
        await context.saveArtifact('user:c.txt', { text: 'mine' });
        seen.push(
          await context.listArtifacts(),
          await context.loadArtifact('a.csv'),
          await context.loadArtifact('b.txt', 0),
          (await context.loadArtifact('b.txt', 1)) ?? 'none',
        );
        return {};
      },
    });
    const made = server(use);
    const { chunks } = await made.post(say('go'));
    expect(seen).toEqual([['a.csv', 'b.txt', 'user:c.txt'], csv, { text: 'two' }, 'none']);
    const names = filesIn(chunks).map(({ providerMetadata }) => providerMetadata?.duologue);
    expect(names).toEqual([
      { filename: 'a.csv', version: 0, bytes: 8 },
      { filename: 'b.txt', version: 0, bytes: 3 },
      { filename: 'user:c.txt', version: 0, bytes: 4 },
    ]);
  });

  it('of a service of the application is shown and served the same way', async () => {
    const artifactService: BaseArtifactService = new InMemoryArtifactService();
    const made = server(saver('a.csv'), { artifactService });
    const [file] = filesIn((await made.post(say('go'))).chunks);
    expect(file?.providerMetadata?.duologue).toEqual({ filename: 'a.csv', version: 0, bytes: 8 });
    expect(await (await made.get(pathOf(file?.url ?? ''))).text()).toBe('a,b\n1,2\n');
  });

  it.each([
    ['https://example.org/a.pdf', ['https://example.org/a.pdf']],
    ['gs://bucket/a.pdf', []],
    ['javascript:alert(1)', []],
  ])('at the address %s is shown at %j', async (fileUri, shown) => {
    const made = server(saver('a.pdf', { fileData: { fileUri, mimeType: 'application/pdf' } }));
    expect(filesIn((await made.post(say('go'))).chunks).map(({ url }) => url)).toEqual(shown);
    expect((await made.get('/sessions/chat-1/artifacts?name=a.pdf')).status).toBe(404);
  });
});

describe('attacks on artifacts', () => {
  it.each([
    '..',
    '../../sessions',
    '/etc/passwd',
    'a/../b',
    '%2e%2e%2f',
    'a\0b',
    'a&version=7',
    'C:\\x',
    '日本語 📄',
  ])('[S12c] the name %j is only a name', async (name) => {
    const made = server(saver(name));
    const [file] = filesIn((await made.post(say('go'))).chunks);
    expect(file?.providerMetadata?.duologue).toMatchObject({ filename: name, version: 0 });
    const reply = await made.get(pathOf(file?.url ?? ''));
    expect([reply.status, await reply.text()]).toEqual([200, 'a,b\n1,2\n']);
    const disposition = reply.headers.get('content-disposition') ?? '';
    expect(disposition).toMatch(/^attachment; filename\*=UTF-8''[\w.%~!-]+$/);
    expect(decodeURIComponent(disposition)).not.toMatch(/[/\\]/);
  });

  it.each<[string, Part, string]>([
    [
      'a page',
      { inlineData: { mimeType: 'text/html', data: base64('<script>alert(1)</script>') } },
      'text/html; charset=utf-8',
    ],
    [
      'a picture with a script',
      { inlineData: { mimeType: 'image/svg+xml', data: base64('<svg onload="alert(1)"/>') } },
      'image/svg+xml',
    ],
    [
      'a type that would split the headers',
      { inlineData: { mimeType: 'text/html\r\nx-evil: 1', data: 'PHA+' } },
      'application/octet-stream',
    ],
    ['a document', { inlineData: { mimeType: 'application/pdf', data: base64('%PDF-') } }, 'application/pdf'],
    ['text', { text: '<script>alert(1)</script>' }, 'text/plain; charset=utf-8'],
  ])('[S12d] %s is offered to be saved, and runs nothing', async (_, artifact, type) => {
    const reply = await served(artifact, 'a.html');
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, type]);
    expect(reply.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''a.html");
    expect(reply.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
    expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('[S12d] a PNG is shown in the page', async () => {
    const reply = await served({ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }, 'a.png');
    expect(reply.headers.get('content-disposition')).toBe("inline; filename*=UTF-8''a.png");
  });

  it('[A4] [S12c] the artifacts of another user do not exist', async () => {
    const authenticate = (request: Request) => request.headers.get('x-user');
    const [alice, mallory] = [{ 'x-user': 'alice' }, { 'x-user': 'mallory' }];
    const made = server(saver('user:a.csv'), { authenticate });
    const [file] = filesIn((await made.post(say('go'), alice)).chunks);
    const path = pathOf(file?.url ?? '');
    expect((await made.get(path, alice)).status).toBe(200);
    expect((await made.get(path, mallory)).status).toBe(404);
    expect((await made.get(path)).status).toBe(401);
    // A session of the same id belongs to the other user, and has artifacts of its own.
    await made.post(say('hello', 'chat-2'), mallory);
    expect((await made.get(path.replace('chat-1', 'chat-2'), mallory)).status).toBe(200);
    expect((await made.get(path.replace('chat-1', 'chat-2'), alice)).status).toBe(404);
  });

  it.each([
    ['', 400],
    ['?version=0', 400],
    ['?name=a.csv&version=x', 400],
    ['?name=a.csv&version=-1', 400],
    ['?name=a.csv&version=1e3', 400],
    ['?name=a.csv&version=7', 404],
    ['?name=b.csv', 404],
    ['?name=a.csv', 200],
  ])('GET artifacts%s is answered with %i', async (query, status) => {
    const made = server(saver('a.csv'));
    await made.post(say('go'));
    expect((await made.get(`/sessions/chat-1/artifacts${query}`)).status).toBe(status);
    expect((await made.get('/sessions/none/artifacts?name=a.csv')).status).toBe(404);
  });

  it.each<[string, Partial<DuologueOptions>, string, string]>([
    ['one version', { artifacts: { maxBytes: 20 } }, 'a.csv', 'artifacts.maxBytes'],
    ['all of a user', { artifacts: { maxUserBytes: 20 } }, 'user:a.csv', 'artifacts.maxUserBytes'],
    ['a session', { history: { maxSessionBytes: 20 } }, 'a.csv', 'history.maxSessionBytes'],
    ['the name', {}, 'x'.repeat(257), 'needs a name of 1 to 256 characters'],
  ])(
    '[S12e] an artifact above the limit of %s fails the call in words, and nothing is stored',
    async (_, options, name, words) => {
      const made = server(saver(name), options);
      // The limit of the session would refuse the message as well, so the session begins without one.
      const { chunks } = await made.post(say('go'));
      expect(chunks.find((chunk) => chunk.type === 'tool-output-error')?.errorText).toContain(words);
      expect(filesIn(chunks)).toEqual([]);
      expect((await made.get(`/sessions/chat-1/artifacts?name=${encodeURIComponent(name)}`)).status).toBe(
        404,
      );
    },
  );

  it('[S14] deleting a session removes its artifacts, and keeps those of its user', async () => {
    const store = createMemoryStore();
    const own = server(saver('a.csv'), { store });
    await own.post(say('go'));
    const mine = server(saver('user:a.csv'), { store });
    await mine.post(say('go', 'chat-2'));
    for (const id of ['chat-1', 'chat-2'])
      await mine.duologue.fetch(new Request(`http://localhost/sessions/${id}`, { method: 'DELETE' }));
    const key = (id: string) => ({ app: 'duologue', user: 'live_user', id });
    expect(await store.loadArtifact(key('chat-1'), 'a.csv')).toBeNull();
    expect(await store.artifactNames(key('chat-2'))).toEqual(['user:a.csv']);
  });
});
