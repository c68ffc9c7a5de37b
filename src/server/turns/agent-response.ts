import { createEvent, StreamingMode } from '@google/adk';
import type { Content } from '@google/genai';
import {
  type DeferredCall,
  type Outcome,
  RESUME,
  type RunView,
  type Turn,
  type TurnOutput,
} from '../../adk/engine.ts';
import { INTERRUPTED, type Message } from '../../protocol/index.ts';
import type { Step } from '../calls.ts';
import { approvalRequest } from '../cards.ts';
import { missedOutputs } from '../reconcile.ts';
import type { Session } from '../session.ts';
import { type Settlement, settlementOf } from '../settlement.ts';
import type { CallRecord } from '../store/store.ts';

/** How one run of the agent went. */
interface RunResult {
  failure: string | null;
  aborted: boolean;
}

/** One response of a turn over SSE, from its `start` to its `finish`: what the answers allow, then what the agent says. */
export class AgentResponse {
  readonly message: Message;
  private readonly session: Session;
  private readonly signal: AbortSignal;
  private readonly turn: Turn;

  constructor(session: Session, message: Message, signal: AbortSignal) {
    this.session = session;
    this.message = message;
    this.signal = signal;
    this.turn = session.newTurn(message);
  }

  /** Goes on with a message whose calls were answered: the agent speaks when none is open any more. */
  async goOn(steps: Step[]): Promise<void> {
    const { session } = this;
    await this.take(steps);
    if (this.signal.aborted) return this.interrupted();
    await this.askTheRest();
    if (session.calls.size > 0) {
      this.end('tool-calls');
      await session.output.save(this.message.id);
      return;
    }
    if (session.cards.areCalls) session.output.say({ type: 'start-step' });
    await this.respond({ role: 'user', parts: [{ text: '' }] }, RESUME);
  }

  /** Runs the agent and writes what it says: to its end, or to the pause. */
  async respond(content: Content, customMetadata: Record<string, unknown>): Promise<void> {
    const { session } = this;
    const { failure, aborted } = await this.run(content, customMetadata);
    this.closeBlocks();
    if (aborted || failure !== null) await this.keepUnfinished();
    if (aborted) return this.interrupted();
    await this.closeAnnounced('The call was not completed');
    if (failure !== null) this.fail(failure);
    else this.end(session.calls.size > 0 ? 'tool-calls' : undefined);
    await this.keep();
  }

  /** Ends the response with an error, in words for the person. */
  fail(errorText: string): void {
    this.closeBlocks();
    this.session.output.say({ type: 'error', errorText });
    this.end('error');
  }

  /** Does what the answers allow, call after call, each written down before the next. */
  private async take(steps: Step[]): Promise<void> {
    const { session, signal } = this;
    for (const step of steps) {
      if (signal.aborted) return;
      // A tool takes its approval when its turn on the server comes.
      const call = step.next === 'settle' ? await session.calls.consume(step.call) : step.call;
      if (!call) continue;
      session.cards.confirm(call);
      if (step.next === 'settle') await this.settle(call, step.settlement);
      else await this.execute(call);
    }
    // Those that a live run left before their turn came.
    for (const call of session.calls.all) {
      if (call.status === 'ready' && !signal.aborted) await this.execute(call);
    }
  }

  /** Runs the tool of an approved call, or lets the browser do it. */
  private async execute(call: CallRecord): Promise<void> {
    const { session, signal } = this;
    const settle = (running: CallRecord, outcome: Outcome) => this.conclude(running, outcome);
    await Promise.race([session.runs.run(call, { signal, settle }), aborted(signal)]);
  }

  private async conclude(call: CallRecord, outcome: Outcome): Promise<void> {
    const { session, signal } = this;
    // Stopped meanwhile: its calls end as interrupted.
    if (signal.aborted) return;
    if (outcome.kind === 'asks') {
      const errorText = `${call.toolName} asked again for a confirmation it already had.`;
      await this.settle(call, { kind: 'error', errorText });
    } else if (outcome.kind !== 'waits') await this.settle(call, settlementOf(outcome));
    else if (!session.cards.areCalls) {
      session.output.say({
        type: 'tool-input-available',
        toolCallId: call.id,
        toolName: call.toolName,
        input: call.args,
        toolMetadata: { runsOn: call.runsOn, asks: true },
      });
    }
  }

  private async settle(call: CallRecord, ending: Settlement): Promise<void> {
    const { calls, output } = this.session;
    if (call.messageId !== this.message.id) {
      await calls.settleQuietly(call, ending);
      return;
    }
    const settled = await calls.settle(call, ending);
    if (!settled) return;
    for (const chunk of calls.chunksFor(call, settled.settlement, output.fold(call.messageId)))
      output.say(chunk);
    await output.save(call.messageId);
  }

  private async run(content: Content, customMetadata: Record<string, unknown>): Promise<RunResult> {
    const { session, turn, signal } = this;
    const { runner, plugin } = session.engine;
    const { userId, sessionId } = session.history.key;
    const view = session.beginRun({ live: false, defer: (call) => this.defer(call) });
    let failure: string | null = null;
    let said = false;
    let stopped: Promise<null> | undefined;
    try {
      const events = runner.runAsync({
        userId,
        sessionId,
        newMessage: content,
        runConfig: { streamingMode: StreamingMode.SSE },
        abortSignal: signal,
        customMetadata,
      });
      for await (const event of events) {
        for (const out of turn.push(event)) {
          if (out.type === 'failed') failure = session.agentFailed(out.code, out.message);
          else this.tell(out, view);
        }
        const room = session.output.room();
        if (room) {
          stopped ??= aborted(signal);
          await Promise.race([room, stopped]);
        }
      }
      said = turn.hasSpoken || session.calls.size > 0 || signal.aborted;
    } catch (error) {
      failure = session.agentThrew(error);
    } finally {
      plugin.end(view);
    }
    if (!said && failure === null && !turn.hasCalled) failure = session.agentFailed('EMPTY_RESPONSE', '');
    return { failure, aborted: signal.aborted };
  }

  private tell(out: TurnOutput, view: RunView): void {
    const { output, cards } = this.session;
    switch (out.type) {
      case 'call': {
        const facts = view.factsOf(out.id);
        if (!(cards.areCalls && facts.asks)) {
          cards.announce({ id: out.id, toolName: out.name, args: out.args }, facts);
        }
        return;
      }
      case 'response': {
        const chunk = view.outputChunk(out.id, out.response);
        this.session.ran(out.id, out.name, chunk.type === 'tool-output-available' ? 'output' : 'error');
        return output.say(chunk);
      }
      case 'audio': {
        const { data: chunk, sampleRate } = out;
        output.say({
          type: 'data-pcm',
          data: { chunk, sampleRate, channels: 1, bitDepth: 16 },
          transient: true,
        });
        return;
      }
      case 'heard':
      case 'failed':
      case 'interrupted':
      case 'turn-complete':
        return;
      default:
        output.say(out);
    }
  }

  /** A call that waits: written down first, then shown. */
  private async defer(call: DeferredCall): Promise<void> {
    const { session, message } = this;
    const record = await session.calls.issue(call, message.id);
    this.closeBlocks();
    if (call.asks) await this.ask(record);
    else await session.output.save(message.id);
  }

  private async ask(record: CallRecord): Promise<void> {
    const { calls, cards, output, engine } = this.session;
    const shown = await calls.show(record, engine.options.approvalTimeoutMs.sse);
    if (cards.areCalls) {
      cards.announceConfirmation(shown);
      await output.save(record.messageId);
    } else await output.sayStored(approvalRequest(shown));
  }

  /** Cards that came one after the other live come all at once here. */
  private async askTheRest(): Promise<void> {
    const { calls, cards } = this.session;
    for (const call of calls.all) {
      const isHidden = call.status === 'requested' && !calls.isShown(call);
      if (!isHidden || call.messageId !== this.message.id) continue;
      if (!cards.areCalls) cards.announceAsking(call);
      await this.ask(call);
    }
  }

  /** Ends a response that the person stopped. */
  private async interrupted(): Promise<void> {
    const { session } = this;
    for (const call of session.calls.all) await this.settle(call, { kind: 'error', errorText: INTERRUPTED });
    await this.closeAnnounced(INTERRUPTED);
    this.end('other', { interrupted: true });
    await this.keep();
  }

  /** What was said before an abort or a failure belongs to the history, though ADK does not keep it. */
  private async keepUnfinished(): Promise<void> {
    const text = this.turn.unfinishedText;
    if (!text) return;
    const { history, engine } = this.session;
    const { events } = await history.load();
    const last = events.findLast((event) => event.content?.parts?.length);
    // Stopped between ADK's keeping the whole text and giving it to us.
    const isKept = last?.content?.parts?.some((part) => part.text?.startsWith(text));
    if (isKept && last?.content?.role === 'model') return;
    const event = createEvent({
      author: engine.rootAgent.name,
      content: { role: 'model', parts: [{ text }] },
      customMetadata: { messageId: this.message.id },
    });
    await history.append(event);
  }

  /** No call stays without an answer, in the history or on the screen. */
  private async closeAnnounced(errorText: string): Promise<void> {
    const { session, message } = this;
    const { output } = session;
    for (const toolCallId of await session.closeDangling(errorText)) {
      if (output.fold(message.id)?.isOpen(toolCallId)) {
        output.say({ type: 'tool-output-error', toolCallId, errorText });
      }
    }
    for (const chunk of missedOutputs(message, await session.history.load(), session.calls))
      output.say(chunk);
  }

  private async keep(): Promise<void> {
    await this.session.keepImages(this.message);
    await this.session.output.save(this.message.id);
  }

  private closeBlocks(): void {
    for (const chunk of this.turn.close()) this.session.output.say(chunk);
  }

  private end(...how: Parameters<Turn['end']>): void {
    for (const chunk of this.turn.end(...how)) this.session.output.say(chunk);
  }
}

function aborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    else signal.addEventListener('abort', () => resolve(null), { once: true });
  });
}
