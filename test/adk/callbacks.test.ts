import {
  BasePlugin,
  type BaseTool,
  FunctionTool,
  LlmAgent,
  LongRunningFunctionTool,
  setLogger,
} from '@google/adk';
import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/adk/index.ts';
import { type Chunk, Grammar } from '../../src/protocol/index.ts';
import type { DuologueOptions } from '../../src/server/index.ts';
import { settle } from '../conversation/support/world.ts';
import { harness, say } from '../support/harness.ts';
import { decision, live } from '../support/live.ts';
import { call, ScriptedModel, text } from '../support/scripted-model.ts';

// ADK logs every error of a plugin, and these plugins throw on purpose.
setLogger(null);

const DONE = { done: true };
const CALLBACK = { from: 'the callback' };

const WHEN = ['before', 'after'] as const;
const WHERE = ['agent', 'plugin'] as const;
const GIVES = ['undefined', 'a value', 'an error'] as const;
const KINDS = [
  'plain',
  'with approval',
  'with ADK confirmation',
  'browser',
  'browser with approval',
  'long-running',
] as const;
const WAYS = ['SSE', 'live', 'turn by turn'] as const;

interface Cell {
  when: (typeof WHEN)[number];
  where: (typeof WHERE)[number];
  gives: (typeof GIVES)[number];
  kind: (typeof KINDS)[number];
  way: (typeof WAYS)[number];
}

const CELLS: Cell[] = WAYS.flatMap((way) =>
  KINDS.flatMap((kind) =>
    WHEN.flatMap((when) =>
      WHERE.flatMap((where) => GIVES.map((gives) => ({ when, where, gives, kind, way }))),
    ),
  ),
);

/** What happened: how often the tool ran, and what each callback was called with. */
class Log {
  ran = 0;
  readonly before: unknown[] = [];
  readonly after: unknown[] = [];

  readonly run = () => {
    this.ran++;
    return { ...DONE };
  };
}

function toolOf(kind: Cell['kind'], log: Log): BaseTool {
  const name = 'act';
  const description = 'Acts.';
  switch (kind) {
    case 'plain':
      return defineTool({ name, description, execute: log.run });
    case 'with approval':
      return defineTool({ name, description, needsApproval: true, execute: log.run });
    case 'with ADK confirmation':
      return new FunctionTool({ name, description, requireConfirmation: true, execute: log.run });
    case 'browser':
      return defineTool({ name, description, runsOn: 'client' });
    case 'browser with approval':
      return defineTool({ name, description, runsOn: 'client', needsApproval: true });
    default:
      return new LongRunningFunctionTool({
        name,
        description,
        execute: () => {
          log.run();
          return undefined;
        },
      });
  }
}

function effectOf(gives: Cell['gives']): Record<string, unknown> | undefined {
  if (gives === 'an error') throw new Error('The callback failed.');
  return gives === 'a value' ? { ...CALLBACK } : undefined;
}

/** An agent and plugins with one callback that does something. Every other callback only counts. */
function applicationOf({ when, where, gives, kind }: Cell, log: Log) {
  const on = (now: Cell['when'], place: Cell['where'], seen: unknown) => {
    if (place === where) log[now].push(seen);
    return now === when && place === where ? effectOf(gives) : undefined;
  };
  class Watching extends BasePlugin {
    override async beforeToolCallback() {
      return on('before', 'plugin', null);
    }
    override async afterToolCallback({ result }: { result: Record<string, unknown> }) {
      return on('after', 'plugin', result);
    }
  }
  const model = new ScriptedModel([[call('act', {}, 'call-1')], [text('Well.')]]);
  const agent = new LlmAgent({
    name: 'assistant',
    model,
    tools: [toolOf(kind, log)],
    beforeToolCallback: () => on('before', 'agent', null),
    afterToolCallback: ({ response }) => on('after', 'agent', response),
  });
  return { model, agent, plugins: [new Watching('watching')] };
}

type Application = ReturnType<typeof applicationOf>;
type Talk = { chunks: Chunk[]; model: ScriptedModel };

/** Answers whatever waits, as a page does, until the turn is over. */
async function talk(way: Cell['way'], { model, agent, plugins }: Application): Promise<Talk> {
  const options: Partial<DuologueOptions> = {
    agent,
    plugins,
    approvalTimeoutMs: null,
    clientTimeoutMs: null,
    ...(way === 'SSE' ? {} : { driver: way === 'live' ? 'live' : 'turn' }),
  };
  if (way === 'SSE') {
    const { post } = harness([], [], options);
    const chunks = [...(await post(say('go'))).chunks];
    for (let waiting = waitingIn(chunks); waiting; waiting = waitingIn(chunks)) {
      const before = chunks.length;
      chunks.push(...(await post({ id: 'chat-1', messages: [answered(waiting)] })).chunks);
      if (chunks.length === before) throw new Error('Nothing came of the answer.');
    }
    return { chunks, model };
  }
  const { connect } = await live([], [], options);
  const socket = await connect();
  const isOver = () => socket.dones > 0;
  socket.say('go');
  for (let answers = 0; !isOver(); answers++) {
    await socket.until(() => isOver() || waitingIn(socket.chunks) !== null);
    const waiting = waitingIn(socket.chunks);
    if (!waiting || isOver()) break;
    if (answers > 2) throw new Error('The call still waits.');
    if (waiting.approvalId) {
      const request = await socket.chunk('tool-approval-request');
      socket.send('message', decision(request));
      if (waiting.runsOn === 'client') await settle();
    }
    if (!waiting.approvalId || waiting.runsOn === 'client')
      socket.send('tool_result', { toolCallId: 'call-1', result: DONE });
    await socket.until(() => isOver() || waitingIn(socket.chunks) === null);
    await socket.done();
  }
  const chunks = socket.chunks.filter(({ type }) => !type.startsWith('data-'));
  return { chunks, model };
}

interface Waiting {
  approvalId: string | undefined;
  runsOn: 'server' | 'client';
}

/** What the call of a stream waits for; null when it has ended, or the turn has. */
function waitingIn(chunks: readonly Chunk[]): Waiting | null {
  const input = chunks.find((chunk) => chunk.type === 'tool-input-available');
  const request = chunks.find((chunk) => chunk.type === 'tool-approval-request');
  const isEnded = chunks.some(({ type }) => type.startsWith('tool-output-'));
  if (!input || isEnded || chunks.some(({ type }) => type === 'error')) return null;
  const { runsOn, asks } = input.toolMetadata as { runsOn: Waiting['runsOn']; asks: boolean };
  // A long-running tool is started on the server, and ended from outside.
  if (asks && !request) return null;
  return { approvalId: request?.approvalId, runsOn };
}

/** The message with which a page answers over SSE. */
function answered({ approvalId, runsOn }: Waiting): object {
  const isClient = runsOn === 'client' || approvalId === undefined;
  const part = {
    type: 'tool-act',
    toolCallId: 'call-1',
    input: {},
    ...(isClient ? { state: 'output-available', output: DONE } : { state: 'approval-responded' }),
    ...(approvalId ? { approval: { id: approvalId, approved: true } } : {}),
  };
  return { id: 'assistant', role: 'assistant', parts: [part] };
}

/** The responses to the call that the model was shown. */
function responsesIn(model: ScriptedModel): unknown[] {
  return model.lastContents.flatMap(({ parts = [] }) =>
    parts.flatMap(({ functionResponse }) => functionResponse?.response ?? []),
  );
}

/** What is to happen in a cell. */
function expectedOf({ when, gives, kind, way }: Cell) {
  const fails = gives === 'an error';
  const isRun = when === 'after' || gives === 'undefined';
  const asks = kind.includes('approval') || kind.includes('confirmation');
  const onServer = !kind.startsWith('browser');
  // ADK lets an error of a callback end the turn. A call that waited is over by then, and ends with the error.
  const endsTurn = fails && (when === 'before' || (kind === 'plain' && way !== 'live'));
  const output = gives === 'a value' ? CALLBACK : fails ? null : DONE;
  return {
    before: 1,
    after: isRun ? [DONE] : [],
    ran: isRun && onServer ? 1 : 0,
    cards: isRun && asks ? 1 : 0,
    output,
    endsTurn,
  };
}

describe.each(WAYS)('tool callbacks over %s', (way) => {
  const cells = CELLS.filter((cell) => cell.way === way);
  it.each(cells)('[T25] [T25a] [T29] $kind: $when-tool callback of the $where gives $gives', async (cell) => {
    const log = new Log();
    const { chunks, model } = await talk(way, applicationOf(cell, log));
    const expected = expectedOf(cell);
    const outputs = chunks.filter((chunk) => chunk.type === 'tool-output-available');
    const errors = chunks.filter((chunk) => chunk.type === 'tool-output-error');
    expect({
      before: log.before.length,
      after: log.after,
      ran: log.ran,
      cards: chunks.filter(({ type }) => type === 'tool-approval-request').length,
      output: outputs[0]?.output ?? null,
      endsTurn: chunks.some(({ type }) => type === 'error'),
    }).toEqual(expected);
    if (expected.output) expect(responsesIn(model)).toEqual([expected.output]);
    else if (!expected.endsTurn) {
      const error = 'act ran, but a callback after it failed: ';
      expect(errors).toEqual([
        { type: 'tool-output-error', toolCallId: 'call-1', errorText: expect.stringContaining(error) },
      ]);
      expect(responsesIn(model)).toEqual([{ error: errors[0]?.errorText }]);
    }
    const grammar = new Grammar(way === 'SSE' ? 'sse' : 'bidi');
    expect([...chunks.flatMap((chunk) => grammar.push(chunk)), ...grammar.openCalls()]).toEqual([]);
  });
});
