import type { Blob } from '@google/genai';
import { type Detection, type Heard, ProtocolError } from '../../../protocol/index.ts';
import type { AgentRun, EndedRun } from './agent-run.ts';
import type { Context } from './context.ts';
import { type Failure, modelErrorText, reportFailure } from './errors.ts';
import type { Messages, UserMessages } from './messages.ts';
import type { OpenCalls } from './open-calls.ts';

/** Input of a live run besides text: sound, pictures, and the signals for the start and end of the user's speech. */
type Media = { is: 'media'; blob: Blob } | { is: 'activity'; activity: 'start' | 'end' };

/** How many pieces of sound or pictures may wait for a run to open: two seconds of sound in pieces of 20 ms. */
const MAX_HELD = 100;
/** If a live run without output fails, or ends sooner than this after its opening, incoming sound opens no other run for the same length of time. */
const REOPEN_MS = 10_000;
/**
 * How long the server waits for an answer to the user's speech. The wait has a limit, because a model may decide to stay silent, and does not report
 * that.
 */
const ANSWER_MS = 8000;
/** For how many messages the length of the sound is remembered, because a client may still be playing it. */
const MAX_SPOKEN = 16;

/** Owns the input of the user's microphone and camera, the transcript of the user's speech, and how much of the agent's speech was played. */
export class Speech {
  private readonly context: Context;
  private readonly open: OpenCalls;
  private readonly messages: Messages;
  private readonly userMessages: UserMessages;
  private readonly run: AgentRun;
  /** Media that waits for the run to open. */
  private held: Media[] = [];
  /** Whether the run is being closed only because another run with a different speech detection must replace it. */
  private isReopening = false;
  /** Until this time, incoming sound opens no run, because the last run for sound failed, or ended soon after its opening (`REOPEN_MS`). */
  private closedUntil = Number.NEGATIVE_INFINITY;
  private transcript = '';
  /**
   * Whether the user speaks, or spoke and waits for an answer. `speaking` is known only from the signals of a client that detects speech. Without
   * them, only the transcript shows that the user spoke.
   */
  private speech: 'none' | 'speaking' | 'unanswered' = 'none';
  private spokenAt = Number.NEGATIVE_INFINITY;
  /** The length of the sound of each message in milliseconds. The message with the newest sound is the last entry. */
  private readonly spoken = new Map<string, number>();
  /** How many milliseconds of a message were played, for messages that the agent was still speaking when the client reported that. */
  private readonly played = new Map<string, number>();

  constructor(
    context: Context,
    open: OpenCalls,
    messages: Messages,
    userMessages: UserMessages,
    run: AgentRun,
  ) {
    this.context = context;
    this.open = open;
    this.messages = messages;
    this.userMessages = userMessages;
    this.run = run;
  }

  /** Whether the user speaks, or waits for an answer to speech. */
  isUnanswered(now: number): boolean {
    return this.speech === 'speaking' || (this.speech === 'unanswered' && now < this.spokenAt + ANSWER_MS);
  }

  /** Sends sound, a picture or a signal to the model, and opens a run if there is none. While a run opens, only the newest `MAX_HELD` pieces wait for it. */
  feed(media: Media, from: string): void {
    const { context, run } = this;
    // An agent that is driven turn by turn takes no media.
    if (context.policy.pauseEndsRun) return;
    run.prompt();
    const isAllowed = context.now >= this.closedUntil;
    if (isAllowed) run.setFedBy(from);
    if (this.pass(media)) return;
    if ((run.isClosing && !this.isReopening) || !isAllowed) return;
    run.openLive();
    run.setFedBy(from);
    this.held.push(media);
    if (this.held.length > MAX_HELD) this.held.shift();
  }

  /** Handles that the user stopped the microphone. */
  stopMicrophone(): void {
    if (this.speech === 'speaking') this.waitForAnswer();
    const media: Media = { is: 'activity', activity: 'end' };
    if (!this.pass(media) && this.held.length > 0) this.held.push(media);
  }

  /** Handles that the user started the microphone. `isFree`: the model may get media now. `isBusy`: the agent works, so its run stays open. */
  startMicrophone(detection: Detection, from: string, isBusy: boolean, isFree: boolean): void {
    const { context, run } = this;
    // The user wants to speak, so a run may be opened even if the last run failed a moment ago.
    this.closedUntil = Number.NEGATIVE_INFINITY;
    const isOther = run.chooseDetection(detection);
    if (run.live !== null && isOther && !isBusy) {
      this.isReopening = true;
      run.close();
    }
    if (detection !== 'client' || !isFree) return;
    this.feed({ is: 'activity', activity: 'start' }, from);
    if (!context.policy.pauseEndsRun) this.speech = 'speaking';
  }

  /** Sends the live run, which is open now, the media that waited for it. */
  runOpened(): void {
    for (const media of this.held.splice(0)) this.pass(media);
  }

  /**
   * Handles a run that ended without output; `why` is the failure, if there is one. No message can end with that failure, so the connection that sent
   * sound to the run gets it. Returns whether an error was sent.
   */
  reportSilentRun({ fedBy, openedAt }: EndedRun, why: ProtocolError | null): boolean {
    const { context } = this;
    if (fedBy === null || this.messages.isWorking) return false;
    // A run that ended without a failure after more than `REOPEN_MS` is not reported: the next sound opens another run. A run that ended sooner is
    // reported, because the next run would end in the same way.
    if (why === null && context.now >= openedAt + REOPEN_MS) return false;
    const error = why ?? new ProtocolError('model_error', modelErrorText('UNREACHABLE', ''));
    this.held = [];
    this.closedUntil = context.now + REOPEN_MS;
    context.emit({ type: 'reply-to', connection: fedBy, error });
    return true;
  }

  /** Handles the end of a run. Returns whether it was closed only because another run must replace it, and media waits for that run. */
  runEnded(): boolean {
    const { isReopening } = this;
    this.isReopening = false;
    // If another run replaces this one, a user who still speaks continues in that run, and only speech that had ended stops waiting for an answer. After
    // any other end of a run, no speech waits for one.
    if (isReopening) this.answered();
    else this.speech = 'none';
    return isReopening && this.held.length > 0;
  }

  /** Reports a failure of the model while no message was being written, so that no message can end with the failure. */
  reportFailure(failure: Failure): void {
    const { log, error } = reportFailure(failure);
    const { feeder } = this.run;
    this.context.emit(log);
    if (feeder !== null) this.context.emit({ type: 'reply-to', connection: feeder, error });
    else this.messages.inject({ type: 'data-error', data: error.toWire(), transient: true });
  }

  /** Records that the model answers the user's speech, or will not answer it. */
  answered(): void {
    if (this.speech === 'unanswered') this.speech = 'none';
  }

  /** Handles a piece of the user's transcript, or with `finished` the whole transcript. Returns false when the whole transcript is empty. */
  heard(text: string, finished: boolean): boolean {
    const { context, messages } = this;
    const { active } = messages;
    if (finished && text === '') {
      this.transcript = '';
      this.answered();
      this.publish(text, finished);
      return false;
    }
    // While a call of the active message is open, the agent answers speech in a new message, as it answers a typed message.
    if (active && !messages.isWorking && this.open.hasIn(active.id)) messages.deactivate();
    this.transcript = finished ? text : this.transcript + text;
    // A transcript that arrives while the agent works belongs to the speech that the agent already answers.
    if (this.speech !== 'speaking' && !messages.isWorking) this.waitForAnswer();
    this.publish(this.transcript, finished);
    if (!finished) return true;
    this.transcript = '';
    const id = context.newMessageId();
    const parts = [{ type: 'text' as const, text }];
    this.userMessages.add(id, parts);
    context.store([{ do: 'store-message', id, parts }], null, [{ type: 'publish-message', messageId: id }]);
    return true;
  }

  private publish(text: string, finished: boolean): void {
    const data = { role: 'user' as const, text, finished };
    this.messages.inject({ type: 'data-transcript', data, transient: true });
  }

  private waitForAnswer(): void {
    this.speech = 'unanswered';
    this.spokenAt = this.context.now;
  }

  /** Adds `ms` milliseconds of speech to a message. */
  spoke(messageId: string, ms: number): void {
    const before = this.spoken.get(messageId) ?? 0;
    this.spoken.delete(messageId);
    this.spoken.set(messageId, before + ms);
    const [oldest] = this.spoken.keys();
    if (this.spoken.size > MAX_SPOKEN && oldest !== undefined) this.spoken.delete(oldest);
  }

  /** Cuts the stored text of a message to the part that was played. Without a `messageId` the message with the newest sound is meant. */
  cut({ messageId = [...this.spoken.keys()].at(-1), playedMs }: Heard): void {
    const ms = messageId === undefined ? undefined : this.spoken.get(messageId);
    if (messageId === undefined || ms === undefined || playedMs === undefined || playedMs >= ms) return;
    if (this.isSpeaking(messageId)) {
      this.played.set(messageId, playedMs);
      return;
    }
    this.spoken.set(messageId, playedMs);
    const share = playedMs / ms;
    this.context.store([{ do: 'cut', messageId, share }], { for: 'cut', messageId });
  }

  /**
   * Cuts messages for which a client reported how much was played while they were still being spoken. The cut waits until the message is complete,
   * because text that is written later would be added after the cut.
   */
  settle(): void {
    for (const [messageId, playedMs] of this.played) {
      if (this.isSpeaking(messageId)) continue;
      this.played.delete(messageId);
      this.cut({ messageId, playedMs });
    }
  }

  /** Sends clients the length to which the text of a message was cut. */
  wasCut(messageId: string, length: number): void {
    this.messages.inject({ type: 'data-heard', data: { messageId, length }, transient: true });
  }

  private isSpeaking(messageId: string): boolean {
    return this.messages.isWorking && this.messages.active?.id === messageId;
  }

  private pass(media: Media): boolean {
    return media.is === 'media' ? this.run.sendMedia(media.blob) : this.run.signal(media.activity);
  }
}
