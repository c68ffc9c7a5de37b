import fc from 'fast-check';
import { expect } from 'vitest';
import { type Chunk, Grammar, type Message, MessageFold } from '../../../src/protocol/index.ts';
import { createMemoryStore } from '../../../src/server/index.ts';
import { auditLines } from '../../../src/testing/store/setup.ts';
import { ManualClock } from '../../support/clock.ts';
import { fourTools } from '../../support/demo-tools.ts';
import { say } from '../../support/harness.ts';
import { decision, type LiveHarness, live } from '../../support/live.ts';
import { partial, type ScriptedFunction, text } from '../../support/scripted-model.ts';
import { roundTrip, settled } from '../../support/settled.ts';
import type { TestSocket } from '../../support/socket.ts';

const settle = async (rounds: number) => {
  for (let i = 0; i < rounds; i++) await new Promise((resolve) => setImmediate(resolve));
};

/** The actions that may happen, in any order and at any moment. */
type Step =
  | {
      kind:
        | 'say'
        | 'post'
        | 'approve'
        | 'deny'
        | 'bring'
        | 'interrupt'
        | 'stop'
        | 'expire'
        | 'drop'
        | 'takeover';
    }
  | { kind: 'wait'; rounds: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<Step>({ kind: 'say' }) },
  { weight: 4, arbitrary: fc.constantFrom<Step>({ kind: 'approve' }, { kind: 'deny' }, { kind: 'bring' }) },
  {
    weight: 4,
    arbitrary: fc.constantFrom<Step>(
      { kind: 'interrupt' },
      { kind: 'stop' },
      { kind: 'expire' },
      { kind: 'drop' },
      { kind: 'takeover' },
      { kind: 'post' },
    ),
  },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), rounds: fc.integer({ min: 0, max: 30 }) }),
  },
);

/** A model with random behaviour: it streams text, calls one or several tools, or fails. */
function anything(dice: number[]): ScriptedFunction {
  let throws = 0;
  return async function* (request, _stream, signal) {
    const roll = dice[throws++ % dice.length] ?? 0;
    for (let i = 0; i < roll % 7; i++) {
      yield partial('word ');
      await settle(roll % 5);
      if (signal?.aborted) return;
    }
    const texts = 'word '.repeat(roll % 7);
    const parts = texts ? [{ text: texts }] : [];
    const last = request.contents.at(-1)?.parts ?? [];
    const hasResponse = last.some((part) => part.functionResponse);
    const call = (name: string, args: Record<string, unknown>) => ({
      functionCall: { id: `${name}-${throws}`, name, args },
    });
    const pay = call('process_payment', { amount: 1, recipient: 'Alice' });
    const locate = call('get_location', {});
    const weather = call('get_weather', { location: 'Oslo' });
    const music = call('change_bgm', { track: 1 });
    const made =
      [[pay], [pay, weather], [weather], [music, pay], [locate], [weather, locate, music], [music]][
        roll % 7
      ] ?? [];
    if (roll % 11 === 3) throw new Error('The model fell over.');
    if (hasResponse || roll % 3 === 0) yield text(`${texts}end`);
    else yield { content: { role: 'model', parts: [...parts, ...made] }, partial: false };
  };
}

const open: { server: LiveHarness; clock: ManualClock }[] = [];

/** Closes the servers and sockets of the last run while the fake clock advances. */
async function closeAll(): Promise<void> {
  for (const { server, clock } of open.splice(0)) {
    let isClosed = false;
    void server.served.close().then(() => {
      isClosed = true;
    });
    for (let i = 0; i < 2000 && !isClosed; i++) {
      await settle(1);
      clock.advance(100);
    }
    expect(isClosed, 'the server closes').toBe(true);
  }
}

/** Runs `numRuns` random conversations over BIDI and posts, and checks each. */
export async function playAnything(numRuns: number, seed: number): Promise<void> {
  await fc
    .assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 5, maxLength: 40 }),
        fc.array(fc.nat(1000), { minLength: 5, maxLength: 12 }),
        fc.constantFrom('sequential' as const, 'parallel' as const),
        fc.constantFrom('queue' as const, 'interrupt' as const),
        async (steps, dice, approvals, whenBusy) => {
          await closeAll();
          const log: string[] = [];
          const clock = new ManualClock();
          const store = createMemoryStore();
          const { payment, location, weather, music } = fourTools(log);
          const model = anything(dice);
          const server = await live([], [payment, location, weather, music], {
            clock,
            store,
            approvals,
            whenBusy,
            rateLimit: false,
            socketLimits: { silenceMs: Number.POSITIVE_INFINITY, framesPerSecond: 100_000 },
          });
          server.model.add(...Array.from({ length: 400 }, () => model));
          open.push({ server, clock });
          const seen: Chunk[] = [];
          const ids = new Set<string>();
          const take = (socket: TestSocket) => {
            for (const one of socket.received.splice(0)) {
              if (one.kind !== 'chunk' || !one.id) continue;
              last = one.id;
              if (one.chunk.type === 'data-session') continue;
              expect(ids.has(one.id), `twice ${one.id}`).toBe(false);
              ids.add(one.id);
              last = one.id;
              seen.push(one.chunk);
            }
          };
          let last: string | undefined;
          let count = 0;
          let socket = await server.connect('?session=any');
          const posts: Promise<unknown>[] = [];
          const openCards = () => {
            const ended = new Set(
              seen.flatMap((chunk) =>
                chunk.type.startsWith('tool-output') && 'toolCallId' in chunk ? [chunk.toolCallId] : [],
              ),
            );
            return seen.flatMap((chunk) =>
              chunk.type === 'tool-approval-request' && !ended.has(chunk.toolCallId) ? [chunk] : [],
            );
          };
          const back = async () => {
            take(socket);
            socket = await server.connect(`?session=any${last ? `&last=${last}` : ''}`);
          };
          for (const one of steps) {
            take(socket);
            switch (one.kind) {
              case 'say':
                socket.say(`message ${++count}`, `m-${count}`);
                break;
              case 'post':
                posts.push(server.post(say(`post ${++count}`, 'any', `p-${count}`)).catch(() => null));
                break;
              case 'approve':
              case 'deny':
                for (const card of openCards())
                  socket.send('message', decision(card, one.kind === 'approve'));
                break;
              case 'bring':
                for (const chunk of seen) {
                  if (chunk.type !== 'tool-input-available') continue;
                  if (chunk.toolName === 'change_bgm' || chunk.toolName === 'get_location')
                    socket.send('tool_result', { toolCallId: chunk.toolCallId, result: { ok: true } });
                }
                break;
              case 'interrupt':
                socket.send('interrupt');
                break;
              case 'stop':
                posts.push(
                  server.duologue.fetch(
                    new Request('http://localhost/sessions/any/stop', { method: 'POST' }),
                  ),
                );
                break;
              case 'expire':
                clock.advance(65_000);
                break;
              case 'drop':
                socket.socket.terminate();
                await settle(5);
                await back();
                break;
              case 'takeover':
                await back();
                break;
              case 'wait':
                await settle(one.rounds);
            }
          }
          // At the end, every pending call times out, and the server must answer one more message.
          for (let i = 0; i < 4; i++) {
            await settled();
            clock.advance(65_000);
          }
          socket.send('interrupt');
          for (let i = 0; i < 60; i++) {
            await roundTrip();
            clock.advance(20);
          }
          // On a busy machine frames arrive late, and their timers need more fake time after that.
          let arePosted = false;
          void Promise.all(posts).then(() => {
            arePosted = true;
          });
          for (let i = 0; i < 5000 && !arePosted; i++) {
            await roundTrip();
            clock.advance(20);
          }
          expect(arePosted, 'every post is answered').toBe(true);
          take(socket);
          const before = seen.length;
          server.model.add();
          socket.say('the last', 'm-last');
          const answered = () => {
            take(socket);
            return seen
              .slice(before)
              .some(
                ({ type }) =>
                  type === 'finish' || type === 'tool-approval-request' || type === 'tool-input-available',
              );
          };
          for (let i = 0; i < 2000 && !answered(); i++) {
            await roundTrip();
            clock.advance(20);
          }
          expect(answered(), 'the last message is answered').toBe(true);
          socket.send('interrupt');
          for (let i = 0; i < 60; i++) {
            await roundTrip();
            clock.advance(20);
          }
          take(socket);
          // Posted turns have no steps around their requests; everything else is the same in both grammars.
          const grammar = new Grammar('bidi');
          const wrong = seen
            .flatMap((chunk) => grammar.push(chunk))
            .filter((words) => !words.includes('tool-approval-request') || !words.includes('step'));
          expect(wrong).toEqual([]);
          const folds = new Map<string, MessageFold>();
          let current: MessageFold | undefined;
          for (const chunk of seen) {
            if (chunk.type === 'start-step' || chunk.type === 'finish-step') continue;
            if (chunk.type === 'data-settled') {
              const { toolCallId, messageId, errorText } = chunk.data;
              const owner = folds.get(messageId);
              if (owner?.isOpen(toolCallId)) owner.push({ type: 'tool-output-error', toolCallId, errorText });
              continue;
            }
            if (chunk.type === 'start') {
              const id = chunk.messageId ?? '';
              current = folds.get(id) ?? new MessageFold({ id, role: 'assistant', parts: [] } as Message);
              folds.set(id, current);
            }
            current?.push(chunk);
          }
          const key = { app: 'duologue', user: 'live_user', id: 'any' };
          expect(await store.openCalls(key), 'open calls').toEqual([]);
          const stored = await store.loadMessages(key);
          for (const { id, role, parts } of stored) {
            if (role !== 'assistant') continue;
            expect(brief(folds.get(id)?.message.parts ?? []), id).toEqual(brief(parts));
          }
          // Every payment has one consumed approval.
          const lines = await auditLines(store, key);
          const consumed = lines.filter(
            ({ kind, toolName }) => kind === 'consumed' && toolName === 'process_payment',
          );
          expect(log.filter((line) => line.startsWith('pay')).length).toBe(consumed.length);
        },
      ),
      { numRuns, seed },
    )
    .finally(closeAll);
}

/** Parts without approvals, because chunks do not repeat a decision to the client. */
function brief(parts: readonly object[]): unknown {
  return JSON.parse(
    JSON.stringify(parts, (name, value: unknown) => (name === 'approval' ? undefined : value)),
  );
}
