import {
  AsyncQueue,
  type BaseLlmConnection,
  type BaseTool,
  Gemini,
  type LlmRequest,
  type LlmResponse,
} from '@google/adk';
import type { Blob, Content, GoogleGenAI, LiveConnectConfig, LiveServerMessage } from '@google/genai';
import { exhaustive } from '../../protocol/exhaustive.ts';
import { newCallId } from '../call-id.ts';
import { asksForSignals, mayBeForSignals, withoutSignals } from '../gemini/activity.ts';
import { liveFamilyOf, onVertex } from '../gemini/families.ts';
import { hasShape } from '../gemini/messages.ts';
import { liveConfigOf, nonBlockingNames } from '../gemini/setup.ts';
import { GeminiSocket } from '../gemini/socket.ts';
import { elapsed, patienceOf, type Timer } from '../retry-policy.ts';
import { waitingResponse } from '../waiting.ts';
import type { Given } from './held.ts';
import { seedOf } from './history.ts';
import { GeminiLink, LINK_LIMITS, type LinkEffect, type LinkInput, type LinkLimits } from './link.ts';
import { GeminiTalk, type TalkEffect } from './session.ts';

/** So many responses wait for ADK, then the server is read no further until most of them are gone. */
const MOST_WAITING = 200;
const FEW_WAITING = 50;

/** Those that do not let the person say when they speak: they are not asked again. */
const REFUSING = new WeakSet<GoogleGenAI>();

/** How a live connection to Gemini is made. */
export interface GeminiLiveOptions {
  /** How long the server may take to accept the setup; 10 seconds by default. */
  setupTimeoutMs?: number;
  /**
   * Which tools the model goes on talking past, where it can: those that wait for a person or a browser, and with 3.8 all
   * that may change something. By default the tools say so by `nonBlocking: true` and `changesNothing: true`.
   */
  nonBlocking?: (tool: BaseTool) => boolean;
  /** When old turns are dropped from what the model is reminded of; null is never, and such a session ends by itself. */
  compression?: LiveConnectConfig['contextWindowCompression'] | null;
  /** How often a silent server is asked for a sign of life, and when it counts as lost; null asks never. */
  ping?: LinkLimits['ping'];
  timer?: Timer;
  /** A number from 0 to 1, for the pauses between tries. */
  random?: () => number;
}

/** Whether a model still has ADK's own live connection, with the defects that `connectGemini` does not have. */
export function keepsStockConnection(model: Gemini): boolean {
  return model.connect === Gemini.prototype.connect;
}

/**
 * Opens a live connection. It is given at once; whatever goes wrong with it is told by what it receives. It lives over many
 * sockets: one that is lost is replaced without ADK knowing.
 */
export async function connectGemini(
  model: Gemini,
  request: LlmRequest,
  options: GeminiLiveOptions = {},
): Promise<BaseLlmConnection> {
  return new GeminiLiveConnection(model.liveApiClient, request.model ?? model.model, request, options);
}

/** One connection to Gemini's live server: the machines that decide, and the hands that do what they say. */
class GeminiLiveConnection implements BaseLlmConnection {
  private readonly client: GoogleGenAI;
  private readonly model: string;
  private readonly config: (handle: string | undefined) => LiveConnectConfig;
  private readonly announces: boolean;
  private readonly limits: LinkLimits;
  private link: GeminiLink;
  private readonly talk: GeminiTalk;
  private readonly timer: Timer;
  private readonly out = new AsyncQueue<LlmResponse>();
  /** Whether the person says when they speak: `none`, when the server was to find out from the beginning. */
  private signals: 'none' | 'asked' | 'taken' | 'refused';
  private socket: GeminiSocket | undefined;
  private wakesAt: number | null = null;
  private cancelWake: () => void = () => undefined;
  private isOver = false;

  constructor(client: GoogleGenAI, model: string, request: LlmRequest, options: GeminiLiveOptions) {
    const known = liveFamilyOf(model);
    const family = client.vertexai ? onVertex(known) : known;
    const nonBlocking = nonBlockingNames(request, family, options.nonBlocking);
    this.client = client;
    this.model = model;
    const { compression } = options;
    const configOf = (handle?: string) =>
      liveConfigOf(request, { model, family, nonBlocking, handle, compression });
    const config = configOf();
    this.config = (handle) => (this.detectsActivity ? withoutSignals(configOf(handle)) : configOf(handle));
    if (!asksForSignals(config)) this.signals = 'none';
    else this.signals = REFUSING.has(client) ? 'refused' : 'asked';
    this.announces = family.announcesHistory && seedOf(request.contents).length > 0;
    this.timer = options.timer ?? patienceOf().timer;
    this.limits = {
      ...LINK_LIMITS,
      ...(options.setupTimeoutMs === undefined ? {} : { setupMs: options.setupTimeoutMs }),
      ...(options.ping === undefined ? {} : { ping: options.ping }),
      ...(options.random ? { random: options.random } : {}),
    };
    this.link = new GeminiLink(this.limits);
    this.talk = new GeminiTalk({
      modelVersion: model,
      family,
      isSpoken:
        config.outputAudioTranscription !== undefined &&
        (config.responseModalities ?? []).every((modality) => modality === 'AUDIO'),
      detectsActivity: () => this.detectsActivity,
      hasIds: !client.vertexai,
      nonBlocking,
      history: request.contents,
      newCallId,
    });
    const { handle } = request.liveConnectConfig.sessionResumption ?? {};
    this.push({ type: 'start', handle: handle ?? null });
  }

  async sendHistory(history: Content[]): Promise<void> {
    this.talk.tellHistory(history);
  }

  async sendContent(content: Content): Promise<void> {
    this.give({ content });
  }

  async sendRealtime(blob: Blob): Promise<void> {
    this.give({ blob });
  }

  async sendActivityStart(): Promise<void> {
    this.give({ activity: 'start' });
  }

  async sendActivityEnd(): Promise<void> {
    this.give({ activity: 'end' });
  }

  async *receive(): AsyncGenerator<LlmResponse, void, void> {
    for await (const response of this.out) {
      if (this.out.size <= FEW_WAITING) this.socket?.resume();
      yield response;
    }
  }

  async close(): Promise<void> {
    this.push({ type: 'close' });
  }

  /** Waits are measured, and do not change when somebody sets the time of the machine. */
  private get now(): number {
    return elapsed(this.timer);
  }

  /** Whether the server finds out by itself when the person speaks. */
  private get detectsActivity(): boolean {
    return this.signals === 'none' || this.signals === 'refused';
  }

  private give(given: Given): void {
    this.do(this.talk.take(given, this.now));
  }

  private push(input: LinkInput): void {
    for (const effect of this.link.push(input, this.now)) this.act(effect);
    this.arm();
  }

  private act(effect: LinkEffect): void {
    const { talk, timer } = this;
    switch (effect.type) {
      case 'open':
        return this.open(effect.n, effect.handle);
      case 'drop':
        this.socket?.close(effect.isDead);
        this.socket = undefined;
        return this.do(talk.lost());
      case 'ping':
        return this.socket?.ping();
      case 'ready':
        if (this.signals === 'asked') this.signals = 'taken';
        if (this.signals === 'refused') REFUSING.add(this.client);
        return this.do(talk.ready(effect.isResumed, this.now));
      case 'waiting':
        return this.out.push(waitingResponse('unreachable', timer.now() + effect.until - this.now));
      case 'forget':
        return this.out.push({ liveSessionResumptionUpdate: { resumable: false } });
      case 'over':
        if (this.signals === 'asked' && effect.failure && mayBeForSignals(effect.failure))
          return this.listen();
        this.isOver = true;
        this.cancelWake();
        this.do(talk.end());
        if (effect.failure) this.out.fail(effect.failure);
        else this.out.close();
        return;
      default:
        return exhaustive(effect);
    }
  }

  /** Begins once more with a server that finds out by itself when the person speaks. */
  private listen(): void {
    this.signals = 'refused';
    this.link = new GeminiLink(this.limits);
    this.push({ type: 'busy', isBusy: this.talk.isBusy });
    this.push({ type: 'start', handle: null });
  }

  private do(effects: TalkEffect[]): void {
    for (const effect of effects) {
      if (effect.type === 'send') this.socket?.send(effect.frame);
      else if (effect.type === 'tell') this.out.push(effect.response);
      else this.push(effect.input);
    }
    this.arm();
  }

  private open(n: number, handle: string | null): void {
    const setup = {
      model: this.model,
      config: this.config(handle ?? undefined),
      announcesHistory: this.announces && handle === null,
    };
    this.socket = new GeminiSocket(this.client, setup, {
      onOpen: () => this.push({ type: 'opened', n }),
      onPong: () => this.push({ type: 'heard', n }),
      onUnreadable: () => this.push({ type: 'unreadable', n }),
      onMessage: (message) => this.read(n, message),
      onClose: (closed) => {
        this.do(this.talk.lost());
        this.push({ type: 'closed', n, closed });
      },
    });
  }

  /** A message that is JSON may still be nonsense inside. */
  private read(n: number, message: LiveServerMessage): void {
    this.push({ type: 'heard', n });
    let effects: TalkEffect[];
    try {
      if (!hasShape(message)) return this.push({ type: 'unreadable', n });
      effects = this.talk.push(message, this.now);
    } catch {
      return this.push({ type: 'unreadable', n });
    }
    this.do(effects);
    if (this.out.size > MOST_WAITING) this.socket?.pause();
  }

  /** Comes back in time. A timer that is early does no harm: it is set again when it is due. */
  private arm(): void {
    const { link, talk, timer } = this;
    if (this.isOver) return;
    const at = Math.min(link.wakesAt ?? Number.POSITIVE_INFINITY, talk.wakesAt ?? Number.POSITIVE_INFINITY);
    if (at === Number.POSITIVE_INFINITY || (this.wakesAt !== null && this.wakesAt <= at)) return;
    this.cancelWake();
    this.wakesAt = at;
    this.cancelWake = timer.after(at - this.now, () => {
      this.wakesAt = null;
      this.do(talk.time(this.now, !this.socket?.isPaused));
      this.push({ type: 'time' });
    });
  }
}
