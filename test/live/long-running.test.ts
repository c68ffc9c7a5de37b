import { getUserChoiceTool, LongRunningFunctionTool, requestInputTool } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fourTools } from '../support/demo-tools.ts';
import { type LiveHarness, live } from '../support/live.ts';
import { call, calls, type ScriptedTurn, text } from '../support/scripted-model.ts';
import type { TestSocket } from '../support/socket.ts';

const upload = (output: unknown) =>
  new LongRunningFunctionTool({
    name: 'upload',
    description: 'Starts an upload',
    parameters: z.object({}),
    execute: () => output,
  });

const TOOLS = [
  ['a tool that returns null', upload(null), {}],
  ['a tool that returns undefined', upload(undefined), {}],
  ['requestInputTool', requestInputTool, { message: 'Which one?' }],
  ['getUserChoiceTool', getUserChoiceTool, { options: ['a', 'b'] }],
] as const;

const CELLS = (['live', 'turn'] as const).flatMap((driver) => TOOLS.map((row) => [driver, ...row] as const));

/** What the agent wrote, by message in the order of their starts. */
function texts(socket: TestSocket): string[] {
  const texts = new Map<string, string>();
  let current = '';
  for (const chunk of socket.chunks) {
    if (chunk.type === 'start') current = chunk.messageId ?? '';
    if (chunk.type === 'start' && !texts.has(current)) texts.set(current, '');
    if (chunk.type === 'text-delta') texts.set(current, texts.get(current) + chunk.delta);
  }
  return [...texts.values()];
}

/** The calls that wait, as a client that connects now gets them. */
async function waiting(server: LiveHarness): Promise<unknown> {
  const socket = await server.connect('?session=chat-1');
  const { data } = await socket.chunk('data-session');
  socket.close();
  return data;
}

describe('a long-running tool that waits for its output from outside, over BIDI', () => {
  it.each(CELLS)('[T18] keeps no message waiting, driven %s: %s', async (driver, _, tool, args) => {
    const script: ScriptedTurn[] = [
      [call(tool.name, { ...args }, 'call-1')],
      [text('Sure.')],
      [text('Yes.')],
    ];
    const server = await live(script, [tool], { clientTimeoutMs: null, driver });
    const socket = await server.connect('?session=chat-1');
    socket.say('begin');
    await socket.chunk('tool-input-available');
    socket.say('and now?');
    await socket.done();
    socket.say('still there?');
    await socket.done(2);
    expect(texts(socket)).toEqual(['', 'Sure.', 'Yes.']);
    expect(socket.chunks.filter(({ type }) => type.startsWith('tool-output'))).toEqual([]);
    expect(JSON.stringify(await waiting(server))).toContain('call-1');
  });

  it('keeps no message waiting beside a tool of the same step that ended', async () => {
    const step = calls(
      { id: 'call-1', name: 'upload', args: {} },
      { id: 'call-2', name: 'get_weather', args: { location: 'Oslo' } },
    );
    const server = await live([[step], [text('Sure.')]], [upload(null), fourTools().weather], {
      clientTimeoutMs: null,
    });
    const socket = await server.connect();
    socket.say('begin');
    await socket.chunk('tool-output-available');
    socket.say('and now?');
    await socket.done();
    expect(texts(socket)).toEqual(['', 'Sure.']);
  });

  it('continues its message when its output comes', async () => {
    const script: ScriptedTurn[] = [[call('upload', {}, 'call-1')], [text('Sure.')], [text('Uploaded.')]];
    const server = await live(script, [upload(null)], { clientTimeoutMs: null });
    const socket = await server.connect();
    socket.say('begin');
    await socket.chunk('tool-input-available');
    socket.say('and now?');
    await socket.done();
    socket.send('tool_result', { toolCallId: 'call-1', result: { ok: true } });
    await socket.done(2);
    expect(texts(socket)).toEqual(['Uploaded.', 'Sure.']);
  });
});
