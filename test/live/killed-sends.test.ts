import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Chunk, Message } from '../../src/protocol/index.ts';
import { serve } from '../../src/server/adapters/node.ts';
import { createMemoryStore, type Store } from '../../src/server/index.ts';
import { fourTools } from '../support/demo-tools.ts';
import { harness } from '../support/harness.ts';
import { calls, type ScriptedTurn, streamed } from '../support/scripted-model.ts';
import { TestSocket } from '../support/socket.ts';
import { hurriedClock, type MortalStore, mortalStore } from './support/mortal-store.ts';

const WHERE = { id: 'call-l', name: 'get_location', args: {} };
const HERE = { latitude: 35.7 };

/** Plays the part of the model from what it is shown, so that a model of the next process goes on where the last one was. */
const model: ScriptedTurn = async function* ({ contents }) {
  const answered = contents.some(({ parts }) => parts?.some((part) => part.functionResponse));
  if (answered) yield* streamed('You are ', 'there.');
  else yield calls({ ...WHERE });
};

interface Request {
  requestId: string;
  type: string;
  data: object;
}

/** A client that knows what the server said it has, and nothing else: whatever was not accepted is sent again. */
class NamedClient {
  readonly accepted = new Set<string>();
  readonly errors: unknown[] = [];
  frames = 0;
  isDone = false;
  private unanswered: Request[] = [];
  private readonly answered = new Set<string>();
  private socket: TestSocket | null = null;
  private last: string | undefined;

  constructor(private readonly onFrame: () => void) {}

  private get hasAsked(): boolean {
    return this.accepted.size > 0;
  }

  ask(type: string, data: object): void {
    const request = { requestId: randomUUID(), type, data };
    this.unanswered.push(request);
    this.send(request);
  }

  /** Comes back, to this server. */
  connect(url: string): void {
    this.socket?.socket.terminate();
    const socket = new TestSocket(`${url}?session=s${this.last ? `&last=${this.last}` : ''}`);
    this.socket = socket;
    let taken = 0;
    const add = socket.received.push.bind(socket.received);
    socket.received.push = (...pieces) => {
      const count = add(...pieces);
      if (this.socket === socket) for (; taken < count; taken++) this.take(socket.received[taken]);
      return count;
    };
  }

  leave(): void {
    this.socket?.socket.terminate();
    this.socket = null;
  }

  private send({ requestId, type, data }: Request): void {
    if (this.socket?.socket.readyState === 1) this.socket.send(type, { ...data, requestId });
  }

  private take(piece: TestSocket['received'][number] | undefined): void {
    if (piece?.kind === 'chunk') {
      if (piece.id) this.last = piece.id;
      this.hear(piece.chunk);
    }
    if (piece?.kind === 'done') this.isDone = true;
    this.frames++;
    this.onFrame();
  }

  private hear(chunk: Chunk): void {
    switch (chunk.type) {
      case 'data-session': {
        for (const { requestId } of chunk.data.received) this.settle(requestId);
        for (const request of this.unanswered) this.send(request);
        for (const { toolCallId, waitsFor } of chunk.data.open) {
          if (waitsFor === 'person') this.approve(toolCallId);
        }
        // What was cut off in the middle of its answer has an end already.
        this.isDone =
          this.hasAsked &&
          this.unanswered.length + chunk.data.open.length === 0 &&
          chunk.data.running === null;
        return;
      }
      case 'data-accepted':
        return this.settle(chunk.data.requestId);
      case 'data-error':
        this.errors.push(chunk.data);
        return;
      case 'tool-approval-request':
        return this.approve(chunk.toolCallId);
      default:
    }
  }

  private settle(requestId: string): void {
    this.accepted.add(requestId);
    this.unanswered = this.unanswered.filter((request) => request.requestId !== requestId);
  }

  /** Decision and output, once. */
  private approve(toolCallId: string): void {
    if (this.answered.has(toolCallId)) return;
    this.answered.add(toolCallId);
    this.ask('tool_result', { toolCallId, status: 'approved' });
    this.ask('tool_result', { toolCallId, result: HERE });
  }
}

/** Says something, answers what is asked, and lets the server die after so many frames or writes, once. Returns what is stored. */
async function killedAfter({ frames, writes }: { frames?: number; writes?: number } = {}): Promise<{
  messages: Message[];
  client: NamedClient;
  writes: number;
}> {
  const memory = createMemoryStore();
  const begin = async (mortal: MortalStore) => {
    const { location } = fourTools();
    const turns = Array.from({ length: 6 }, () => model);
    const { clock, hurry } = hurriedClock();
    const options = { newId: randomUUID, store: mortal.store, approvalTimeoutMs: null, clock };
    const { duologue } = harness(turns, [location], options);
    const served = await serve(duologue, { port: 0 });
    onTestFinished(async () => {
      mortal.bury();
      const closed = served.close();
      const hurrying = setInterval(hurry, 5);
      await closed.finally(() => clearInterval(hurrying));
    });
    return `${served.url.replace('http', 'ws')}/live`;
  };
  let wake: () => void = () => undefined;
  const first = mortalStore(memory, {
    ...(writes === undefined ? {} : { maxWrites: writes }),
    onDeath: () => wake(),
  });
  const urls = [await begin(first), await begin(mortalStore(memory as Store))];
  const client = new NamedClient(() => {
    if (client.frames === frames) first.die();
    wake();
  });
  client.connect(urls[0] ?? '');
  client.ask('message', {
    messages: [{ id: 'user-1', role: 'user', parts: [{ type: 'text', text: 'where' }] }],
  });
  await until(
    () => client.isDone || first.isDead,
    (next) => (wake = next),
  );
  if (!client.isDone) {
    client.connect(urls[1] ?? '');
    await until(
      () => client.isDone,
      (next) => (wake = next),
    );
  }
  client.leave();
  return {
    messages: await memory.loadMessages({ app: 'duologue', user: 'live_user', id: 's' }),
    client,
    writes: first.writes,
  };
}

/** Resolves when something is so, looked at whenever it may have changed. */
async function until(condition: () => boolean, onWake: (next: () => void) => void): Promise<void> {
  while (!condition()) await new Promise<void>(onWake);
}

/** What the conversation came to, in short. Calls have their names: a turn that is repeated may give its call another id than the turn that was lost. */
const brief = (messages: Message[]) =>
  messages.map(({ role, parts }) => [
    role,
    ...parts.map((part) =>
      part.type === 'text' ? part.text : 'toolCallId' in part ? `${part.type} ${part.state}` : part.type,
    ),
  ]);

const WHOLE = [
  ['user', 'where'],
  ['assistant', 'tool-get_location output-available', 'You are there.'],
];

const CUT_OFF = [
  ['user', 'where'],
  ['assistant', 'tool-get_location output-available'],
];

/** What came of it: how often it is on record, what was accepted of the three requests, what went wrong, and whether it ended. */
const outcome = ({ messages, client }: Awaited<ReturnType<typeof killedAfter>>) => ({
  texts: texts(messages),
  accepted: client.accepted.size,
  errors: client.errors,
  isOver: client.isDone,
});

const WELL = { texts: 1, accepted: 3, errors: [], isOver: true };

describe('what is sent to a server that is killed', () => {
  it('[B24] [B26a] is said once, and nothing of it is lost, after whichever frame it dies', async () => {
    const whole = await killedAfter();
    expect(brief(whole.messages)).toEqual(WHOLE);
    for (let frames = 1; frames < whole.client.frames; frames++) {
      expect({ frames, ...outcome(await killedAfter({ frames })) }).toEqual({ frames, ...WELL });
    }
  });

  it('[B24] [B26] [T10] [T15] is said once, and nothing of it is lost, after whichever write it dies', async () => {
    const whole = await killedAfter();
    for (let writes = 1; writes <= whole.writes; writes++) {
      const killed = await killedAfter({ writes });
      const last = killed.messages.at(-1);
      // What the agent was saying when it died may be cut off, and says so (R7).
      const shown = last?.metadata?.cutOff ? CUT_OFF : WHOLE;
      expect({ writes, ...outcome(killed), shown: brief(killed.messages) }).toEqual({
        writes,
        ...WELL,
        shown,
      });
    }
  });
});

/** How often the person is on record with what they said. */
function texts(messages: Message[]): number {
  return messages.filter(({ role }) => role === 'user').length;
}
