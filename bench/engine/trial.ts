import {
  BaseLlm,
  type BaseLlmConnection,
  createEvent,
  FunctionTool,
  InMemorySessionService,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  LogLevel,
  Runner,
  StreamingMode,
  setLogLevel,
} from '@google/adk';
import { z } from 'zod';
import { MessageChunks } from '../../src/adk/index.ts';
import { encodeBlock } from '../../src/protocol/index.ts';
import { ResponseReader } from '../../src/server/http/reply.ts';
import { createDuologue, createMemoryStore, type Duologue } from '../../src/server/index.ts';
import { deltaAt } from '../streams/load.ts';

/** Variants of the same work, measured alternately in one process in a rotating order. */

const USER = 'live_user';

/** A model that streams deltas, calls a tool after every `deltas`, and stops after `steps` such calls. */
class Source extends BaseLlm {
  readonly deltas: number;
  readonly steps: number;
  readonly perTick: number;
  private step = 0;

  constructor(deltas: number, steps: number, perTick: number) {
    super({ model: 'source' });
    this.deltas = deltas;
    this.steps = steps;
    this.perTick = perTick;
  }

  override async *generateContentAsync(_request: LlmRequest): AsyncGenerator<LlmResponse, void> {
    this.step++;
    let whole = '';
    for (let n = 0; n < this.deltas; n++) {
      const text = deltaAt(n);
      whole += text;
      if (this.perTick > 0 && n % this.perTick === 0) await new Promise((resolve) => setImmediate(resolve));
      yield { content: { role: 'model', parts: [{ text }] }, partial: true };
    }
    const last = this.step % this.steps === 0;
    yield {
      content: {
        role: 'model',
        parts: [
          { text: whole },
          ...(last ? [] : [{ functionCall: { name: 'get_weather', args: { location: 'Tokyo' } } }]),
        ],
      },
      partial: false,
      usageMetadata: {
        promptTokenCount: 5,
        candidatesTokenCount: this.deltas,
        totalTokenCount: this.deltas + 5,
      },
    };
  }

  override connect(): Promise<BaseLlmConnection> {
    throw new Error('not live');
  }
}

function agentOn(model: BaseLlm): LlmAgent {
  const weather = new FunctionTool({
    name: 'get_weather',
    description: 'Weather',
    parameters: z.object({ location: z.string() }),
    execute: ({ location }: { location: string }) => ({ location, temperature: 20 }),
  });
  return new LlmAgent({ name: 'assistant', model, tools: [weather] });
}

interface Work {
  bytes: number;
  /** The streamed text, which must be the same for every variant; joined outside the measured time. */
  text: () => string;
}

type Variant = (n: number) => Promise<Work>;

function adkAlone(source: Source): Variant {
  const sessionService = new InMemorySessionService();
  const runner = new Runner({ appName: 'bench', agent: agentOn(source), sessionService });
  return async (n) => {
    await sessionService.createSession({ appName: 'bench', userId: USER, sessionId: `s${n}` });
    const lines: string[] = [];
    for await (const event of runner.runAsync({
      userId: USER,
      sessionId: `s${n}`,
      newMessage: { role: 'user', parts: [{ text: 'go' }] },
      runConfig: { streamingMode: StreamingMode.SSE },
    })) {
      if (event.partial) lines.push(event.content?.parts?.[0]?.text ?? '');
    }
    await sessionService.deleteSession({ appName: 'bench', userId: USER, sessionId: `s${n}` });
    return { bytes: 0, text: () => lines.join('') };
  };
}

/** The same run of ADK, its events mapped to chunks and the chunks encoded to bytes. */
function mapped(source: Source): Variant {
  const sessionService = new InMemorySessionService();
  const runner = new Runner({ appName: 'bench', agent: agentOn(source), sessionService });
  return async (n) => {
    await sessionService.createSession({ appName: 'bench', userId: USER, sessionId: `s${n}` });
    const lines: string[] = [];
    const turn = new MessageChunks();
    let bytes = 0;
    let seq = 0;
    let text = '';
    for await (const event of runner.runAsync({
      userId: USER,
      sessionId: `s${n}`,
      newMessage: { role: 'user', parts: [{ text: 'go' }] },
      runConfig: { streamingMode: StreamingMode.SSE },
    })) {
      for (const out of turn.push(event)) {
        if (out.type === 'text-delta') {
          lines.push(out.delta);
          text += encodeBlock(out, `epoch-${++seq}`);
        } else if (out.type === 'call') {
          const call = { toolCallId: out.id, toolName: out.name };
          text += encodeBlock({ type: 'tool-input-start', ...call }, `epoch-${++seq}`);
          text += encodeBlock({ type: 'tool-input-available', ...call, input: out.args }, `epoch-${++seq}`);
        } else if (out.type === 'response') {
          const chunk = { type: 'tool-output-available', toolCallId: out.id, output: out.response } as const;
          text += encodeBlock(chunk, `epoch-${++seq}`);
        } else if (out.type === 'text-start' || out.type === 'text-end') {
          text += encodeBlock(out, `epoch-${++seq}`);
        }
      }
      // As the server writes: text deltas are batched, every other chunk is written at once.
      if (event.partial && text.length < 8192) continue;
      bytes += Buffer.from(text).byteLength;
      text = '';
    }
    bytes += Buffer.from(text).byteLength;
    await sessionService.deleteSession({ appName: 'bench', userId: USER, sessionId: `s${n}` });
    return { bytes, text: () => lines.join('') };
  };
}

/** The whole server, from the request to the bytes of the response. */
function served(source: Source): Variant {
  const duologue = createDuologue({ agent: agentOn(source), rateLimit: false });
  return async (n) => {
    const texts: string[] = [];
    let bytes = 0;
    for await (const text of post(duologue, `s${n}`)) {
      bytes += Buffer.from(text).byteLength;
      texts.push(text);
    }
    await duologue.fetch(new Request(`http://localhost/sessions/s${n}`, { method: 'DELETE' }));
    return { bytes, text: () => texts.map(deltasIn).join('') };
  };
}

function deltasIn(text: string): string {
  return [...text.matchAll(/"delta":("(?:[^"\\]|\\.)*")/g)]
    .map(([, delta = '""']) => JSON.parse(delta) as string)
    .join('');
}

async function* post(duologue: Duologue, id: string): AsyncGenerator<string> {
  const reply = await duologue.handle(
    new Request('http://localhost/stream', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id, messages: [{ role: 'user', parts: [{ type: 'text', text: 'go' }] }] }),
    }),
  );
  if (!(reply?.body instanceof ResponseReader)) throw new Error(`No stream: ${String(reply?.body)}`);
  for (let text = await reply.body.next(); text !== null; text = await reply.body.next()) yield text;
}

/** CPU of a turn's start: from the input to the first event or chunk, at a session with that many events. */
function bareStart(events: number): Variant {
  const sessionService = new InMemorySessionService();
  const runner = new Runner({ appName: 'bench', agent: agentOn(new Source(1, 1, 0)), sessionService });
  const filled = fill(async (event) => {
    const session = await sessionService.getOrCreateSession({
      appName: 'bench',
      userId: USER,
      sessionId: 'long',
    });
    await sessionService.appendEvent({ session, event });
  }, events);
  return async () => {
    await filled;
    const run = runner.runAsync({
      userId: USER,
      sessionId: 'long',
      newMessage: { role: 'user', parts: [{ text: 'go' }] },
      runConfig: { streamingMode: StreamingMode.SSE },
    });
    await run.next();
    await run.return(undefined);
    return { bytes: 0, text: () => '' };
  };
}

function servedStart(events: number): Variant {
  const store = createMemoryStore();
  const duologue = createDuologue({ agent: agentOn(new Source(1, 1, 0)), rateLimit: false, store });
  const key = { app: 'duologue', user: USER, id: 'long', fence: 0 };
  const filled = store
    .createSession(key, {})
    .then(() => fill((event) => store.appendEvent(key, event), events));
  return async () => {
    await filled;
    for await (const text of post(duologue, 'long')) if (text.includes('text-delta')) break;
    return { bytes: 0, text: () => '' };
  };
}

async function fill(append: (event: ReturnType<typeof createEvent>) => Promise<unknown>, events: number) {
  for (let n = 0; n < events; n++) {
    const user = n % 2 === 0;
    await append(
      createEvent({
        author: user ? 'user' : 'assistant',
        content: { role: user ? 'user' : 'model', parts: [{ text: `Line ${n} of a long conversation.` }] },
      }),
    );
  }
}

/** CPU microseconds of each variant in each repetition. */
async function measure(
  variants: Record<string, Variant>,
  warmUps: number,
  reps: number,
): Promise<Record<string, number[]>> {
  const names = Object.keys(variants);
  const out: Record<string, number[]> = Object.fromEntries(names.map((name) => [name, []]));
  let expected: string | null = null;
  let run = 0;
  for (let rep = -warmUps; rep < reps; rep++) {
    for (let at = 0; at < names.length; at++) {
      const name = names[(at + rep + warmUps) % names.length] ?? '';
      const before = process.cpuUsage();
      const done = await variants[name]?.(run++);
      const { user, system } = process.cpuUsage(before);
      if (rep >= 0) out[name]?.push(user + system);
      const text = done?.text() ?? '';
      expected ??= text;
      if (text !== expected) throw new Error(`${name} gave another text.`);
    }
  }
  return out;
}

setLogLevel(LogLevel.ERROR);
const [kind = 'fire', reps = '9'] = process.argv.slice(2);

// 95 deltas of every 100 chunks: a block's two ends and a call's three chunks are the rest.
const source = () => new Source(95, 40, kind === 'tick8' ? 8 : 0);
const result =
  kind === 'start'
    ? await measure(
        { adk: bareStart(1000), again: bareStart(1000), served: servedStart(1000) },
        5,
        Number(reps),
      )
    : await measure(
        {
          adk: adkAlone(source()),
          again: adkAlone(source()),
          mapped: mapped(source()),
          served: served(source()),
        },
        3,
        Number(reps),
      );
process.stdout.write(JSON.stringify(result));
process.exit(0);
