import { toContent } from '../../adk/engine.ts';
import { type Answer, type Message, ProtocolError } from '../../protocol/index.ts';
import type { AdmittedPart } from '../files.ts';
import type { Session } from '../session.ts';
import { type Identity, NO_LONGER_SIGNED_IN } from '../sign-in.ts';
import { AgentResponse } from './agent-response.ts';

/** A message as a client posted it, checked. */
export interface PostedMessage {
  id: string | undefined;
  parts: AdmittedPart[];
  requestId?: string;
}

/** A post that was taken. */
export interface TakenPost {
  /** Resolves, when its turn comes, with the place in the log before its first chunk; rejects when it is refused. */
  begun: Promise<number>;
  finished: Promise<void>;
}

/** Which message answers are for, and who gives them in which request. */
interface AnsweredBy {
  messageId: string | undefined;
  by: Identity;
  requestId?: string;
}

/** Begins the response in a message, behind a place in the log. */
type Begin = (from: number, message: Message) => AgentResponse;

/**
 * The turns of a session over SSE: each input gives one response, and the response ends whenever everything still open
 * waits for the person or the browser.
 */
export class Turns {
  private readonly session: Session;
  private controller: AbortController | null = null;
  private running: string | null = null;
  /** The request whose turn it is. */
  request: string | null = null;

  constructor(session: Session) {
    this.session = session;
  }

  /** The message whose response is being written, or null. */
  get current(): string | null {
    return this.running;
  }

  /** Stops the response in progress; false when there is none. */
  stop(): boolean {
    if (!this.controller) return false;
    this.controller.abort();
    return true;
  }

  /** Takes a new message. */
  message(posted: PostedMessage): TakenPost {
    const { session } = this;
    const { engine } = session;
    return this.inTurn(async (begin) => {
      const from = session.output.log.last;
      for (const { messageId, chunks } of await session.expireQuietly()) {
        session.tellSettled(messageId, chunks);
      }
      await session.supersede();
      const { id = `msg_${engine.newId()}`, parts } = posted;
      await session.rewindTo(id);
      await session.store(id, parts);
      const message = session.newMessage();
      message.metadata = { createdAt: engine.clock.now() };
      await begin(from, message).respond(toContent(parts), { messageId: id });
    }, posted.requestId);
  }

  /** Takes answers to open calls. Refused when they answer nothing. */
  answers(answers: Answer[], { messageId, by, requestId }: AnsweredBy): TakenPost {
    const { session } = this;
    const { calls, output } = session;
    return this.inTurn(async (begin) => {
      const from = output.log.last;
      const late = await session.expireQuietly();
      const isSignedIn = await session.mayDecide(answers, by);
      const { steps, refused } = await calls.answer(answers, { by, isSignedIn });
      if (!isSignedIn) {
        for (const step of steps) {
          if (step.next === 'settle') await calls.settleQuietly(step.call, step.settlement);
        }
        throw new ProtocolError('unauthorized', NO_LONGER_SIGNED_IN);
      }
      const target = steps[0]?.call.messageId ?? late[0]?.messageId ?? (await this.unfinished(messageId));
      const message = target === undefined ? null : await output.load(target);
      if (!message) {
        throw refused.length > 0
          ? new ProtocolError('answer_refused', `The answer was refused: ${refused.join('; ')}.`)
          : new ProtocolError('nothing_to_answer', 'The last message answers no call that is open.');
      }
      const response = begin(from, message);
      for (const { messageId: id, chunks } of late) {
        if (id !== message.id) session.tellSettled(id, chunks);
        else for (const chunk of chunks) output.inject(chunk);
      }
      for (const why of refused) {
        output.tell(new ProtocolError('answer_refused', `An answer was refused: ${why}.`));
      }
      await response.goOn(steps);
    }, requestId);
  }

  private inTurn(work: (begin: Begin) => Promise<void>, requestId: string | undefined): TakenPost {
    const { session } = this;
    let resolve: (from: number) => void = () => undefined;
    let reject: (error: unknown) => void = () => undefined;
    const begun = new Promise<number>((yes, no) => {
      resolve = yes;
      reject = no;
    });
    begun.catch(() => undefined);
    let response: AgentResponse | null = null;
    const finished = session
      .exclusive(async () => {
        const controller = new AbortController();
        this.controller = controller;
        this.request = requestId ?? null;
        return session.live.yieldTo(() =>
          work((from, message) => {
            response = new AgentResponse(session, message, controller.signal);
            this.running = message.id;
            session.output.begin(message);
            resolve(from);
            return response;
          }),
        );
      })
      .catch((error: unknown) => {
        reject(error);
        if (!response) return;
        session.engine.logger.error('a turn failed', { ...session.about, error: String(error) });
        response.fail('Something went wrong on the server. Please try again.');
      })
      .finally(() => {
        this.controller = null;
        this.running = null;
        this.request = null;
        if (!response) return;
        const { id } = response.message;
        session.output.done();
        if (!session.calls.areOpenIn(id)) session.output.release(id);
      });
    return { begun, finished };
  }

  /** The message whose calls are all answered but which the model has not gone on with: its process died in between. */
  private async unfinished(messageId: string | undefined): Promise<string | undefined> {
    const { session } = this;
    if (session.calls.size > 0) return undefined;
    const { events } = await session.history.load();
    const last = events.findLast((event) => event.content?.parts?.length);
    if (!last?.content?.parts?.some((part) => part.functionResponse)) return undefined;
    const messages = await session.engine.store.loadMessages(session.key);
    const message = messages.at(-1);
    const isThat = message?.role === 'assistant' && (messageId === undefined || message.id === messageId);
    return isThat ? message.id : undefined;
  }
}
