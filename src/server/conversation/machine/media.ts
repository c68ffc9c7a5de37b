import type { Blob } from '@google/genai';
import { type Detection, ProtocolError } from '../../../protocol/index.ts';
import type { AgentEvents } from './agent-events.ts';
import { agentFailure, type Failure } from './agent-failure.ts';
import type { AgentRun } from './agent-run.ts';
import type { Inbox } from './inbox.ts';
import { modelErrorText } from './model-error.ts';
import type { Shared } from './shared.ts';
import type { Transcript } from './transcript.ts';

/** What a live run is given beside words: sound and pictures, and where the person's speech begins and ends. */
type Fed = { is: 'media'; blob: Blob } | { is: 'signal'; activity: 'start' | 'end' };

/** Sound and pictures that wait for a run to open: two seconds of sound. */
const MAX_HELD = 100;
/** After a run that could not be opened for sound, how long sound opens no other. */
const DEAF_MS = 10_000;

/** What sound and pictures need of other parts. */
interface Needs extends Shared {
  readonly events: AgentEvents;
  readonly inbox: Inbox;
  readonly run: AgentRun;
  readonly transcript: Transcript;
}

/** What the model hears and sees as it happens: a run is opened for it, and whoever gives it is told when there is none. */
export class Media {
  /** What waits for the run to open. */
  private held: Fed[] = [];
  /** Who finds the end of what the person says, in the next run and in the one that is open. */
  private detection: { next: Detection; now: Detection } = { next: 'server', now: 'server' };
  /** Whether the run is closed only to be opened in another way. */
  private isReopening = false;
  /** The connection that gave the run sound or pictures, if one did. */
  private fedBy: string | null = null;
  private deafUntil = Number.NEGATIVE_INFINITY;
  /** When the run was begun. */
  private begunAt = Number.NEGATIVE_INFINITY;
  private readonly parts: Needs;

  constructor(parts: Needs) {
    this.parts = parts;
  }

  /** Lets the model hear or see something. What cannot be heard in time is dropped. */
  feed(fed: Fed, from: string): void {
    const { core, events, policy, run } = this.parts;
    // Between the turns of an agent that is not live nobody hears anything.
    if (policy.pauseEndsRun) return;
    events.shown();
    if (core.now >= this.deafUntil) this.fedBy = from;
    if (run.listening) return this.pass(run.listening, fed);
    if ((run.isClosing && !this.isReopening) || core.now < this.deafUntil) return;
    run.openLive();
    this.fedBy = from;
    this.held.push(fed);
    if (this.held.length > MAX_HELD) this.held.shift();
  }

  /** The person turns the microphone on or off. */
  microphone(action: 'start' | 'stop', detection: Detection, from: string): void {
    const { inbox, policy, run, transcript } = this.parts;
    if (action === 'stop') {
      transcript.marked('end');
      if (run.listening) this.pass(run.listening, { is: 'signal', activity: 'end' });
      else if (this.held.length > 0) this.held.push({ is: 'signal', activity: 'end' });
      return;
    }
    // Whoever turns it on again wants to be heard, whatever went wrong before.
    this.deafUntil = Number.NEGATIVE_INFINITY;
    this.detection.next = detection;
    if (run.listening && this.detection.now !== detection && !this.parts.isBusy) {
      this.isReopening = true;
      run.close();
    }
    if (detection !== 'client' || !inbox.isFree) return;
    this.feed({ is: 'signal', activity: 'start' }, from);
    if (!policy.pauseEndsRun) transcript.marked('start');
  }

  /** A run is about to be opened; returns who finds the end of what the person says in it. */
  opening(): Detection {
    this.fedBy = null;
    this.begunAt = this.parts.core.now;
    this.detection.now = this.detection.next;
    return this.detection.now;
  }

  /** A live run is open: it hears what waited for it. */
  opened(n: number): void {
    for (const fed of this.held.splice(0)) this.pass(n, fed);
  }

  /**
   * A run is over without a word; `why` is what failed, if something did. Says so at once when it was opened for sound: nobody would tell the
   * person otherwise. Returns whether it did.
   */
  notOpened(why: ProtocolError | null): boolean {
    const { core, messages } = this.parts;
    const { fedBy: connection } = this;
    if (connection === null || messages.isAtWork) return false;
    // A model that leaves in silence after a while is gone on with; one that does so at once does it again.
    if (why === null && core.now >= this.begunAt + DEAF_MS) return false;
    const error = why ?? new ProtocolError('model_error', modelErrorText('UNREACHABLE', ''));
    this.held = [];
    this.deafUntil = core.now + DEAF_MS;
    core.emit({ type: 'tell-connection', connection, error });
    return true;
  }

  /** A run is over: another one is opened when that was what it was closed for. */
  ended(): void {
    const { inbox, run, transcript } = this.parts;
    const { isReopening } = this;
    this.isReopening = false;
    // What is being said is heard by the next one.
    if (isReopening) transcript.answered();
    else transcript.over();
    if (isReopening && this.held.length > 0 && inbox.isFree) run.openLive();
  }

  /** The model failed while it was saying nothing: there is no answer that could end with it. */
  tellFailure(failure: Failure): void {
    const { core, messages } = this.parts;
    const { note, error } = agentFailure(failure);
    core.emit(note);
    if (this.fedBy !== null) core.emit({ type: 'tell-connection', connection: this.fedBy, error });
    else messages.inject({ type: 'data-error', data: error.toWire(), transient: true });
  }

  private pass(n: number, fed: Fed): void {
    const { core } = this.parts;
    if (fed.is === 'media') core.emit({ type: 'show-media', n, blob: fed.blob });
    else core.emit({ type: 'signal', n, activity: fed.activity });
  }
}
