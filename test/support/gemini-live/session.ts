import type { Blob, FunctionResponse } from '@google/genai';
import type { LiveFamily } from '../../../src/models/gemini/families.ts';
import { LiveConversation } from '../../../src/models/live/turn-based-history.ts';
import { noticeOf } from '../../../src/models/prompt-texts.ts';
import type { Answer, Asked } from '../providers/dialect.ts';
import { pieces } from '../providers/dialect.ts';
import { must, type Quirks, readRealtime, readResponses, readTurns, type Setup } from './strict.ts';
import { FakeSpeechDetector, type FakeVoice, soundOf } from './voice.ts';

type Json = Record<string, unknown>;

/** The fault that occurs in the middle of the model's next output. */
export type TurnFault =
  | { close: number; reason?: string }
  | { goAway: number }
  /** The fake sends these messages, and the model continues. */
  | { tells: Json[] }
  | 'cut'
  | 'half a frame'
  | 'garbage'
  | 'interrupted'
  | 'silence';

/** What a session needs from around it. */
export interface SessionContext {
  family: LiveFamily;
  isVertex: boolean;
  quirks: Quirks;
  think: (asked: Asked) => Promise<Answer>;
  nextFault: () => TurnFault | undefined;
  /** Breaks the socket with a fault. */
  breakSocket: (session: LiveSession, fault: TurnFault) => void;
  newCallId: () => string;
  /** The voice of the model; without one its speech is silence, and takes no time. */
  voice: FakeVoice | undefined;
  /** Returns the text of the speech that the session received. */
  understand: () => string | undefined;
  wait: (ms: number) => Promise<void>;
}

interface Pending {
  name: string;
  args: Json;
  isBlocking: boolean;
  batch: number;
}

const SILENCE = Buffer.alloc(480).toString('base64');

/** The service's state of one session. It outlives its sockets. */
export class LiveSession {
  readonly handle: string;
  send: ((message: Json) => void) | null = null;
  /** Calls that the model made and that are not answered. */
  readonly pending = new Map<string, Pending>();
  /** How often the model generated an answer. */
  generated = 0;
  private readonly context: SessionContext;
  private readonly conversation = new LiveConversation();
  private setup: Setup;
  private readonly cancelled = new Set<string>();
  private readonly dropped = new Set<string>();
  private readonly answered = new Set<string>();
  private speech = '';
  private readonly speechDetector = new FakeSpeechDetector();
  /** Whether the user paused while the client signals the end of speech. */
  private hasPaused = false;
  /** The last picture of the camera. */
  private shown: Blob | null = null;
  private speaking: { isOver: boolean } | null = null;
  /** The rest of the answer that was not sent when the socket was lost. */
  private rest = '';
  private takesHistory: boolean;
  private batch = 0;

  constructor(handle: string, setup: Setup, context: SessionContext) {
    this.handle = handle;
    this.setup = setup;
    this.context = context;
    this.takesHistory = setup.announcesHistory;
  }

  get isSpeaking(): boolean {
    return this.speaking !== null;
  }

  /** A new socket resumes the session. */
  resume(setup: Setup): void {
    this.setup = setup;
    this.takesHistory = false;
    if (this.rest && this.context.quirks.afterResume === 'goes on') {
      const text = this.rest;
      this.rest = '';
      void this.speak({ text, calls: [], finish: 'stop' });
    }
  }

  /** The socket is lost: the model stops speaking. */
  lose(): void {
    this.send = null;
    if (this.speaking) this.speaking.isOver = true;
    this.speaking = null;
  }

  take(message: Json): void {
    const [kind, ...others] = Object.keys(message);
    must(others.length === 0 && kind !== undefined, 1007, 'Request contains an invalid argument.');
    const { family, isVertex } = this.context;
    switch (kind) {
      case 'clientContent':
        return this.takeContent(message.clientContent as Json);
      case 'realtimeInput':
        return this.takeRealtime(readRealtime(message.realtimeInput as Json, this.setup));
      case 'toolResponse':
        return this.takeResponses(readResponses(message.toolResponse, family, isVertex));
      default:
        must(false, 1007, `Unknown name "${kind}": Cannot find field.`);
    }
  }

  /** The user speaks: the service has the transcript at once. */
  hear(text: string): void {
    this.interrupt();
    this.tell({ serverContent: { inputTranscription: { text } } });
    this.say(text);
  }

  cancel(ids: readonly string[]): void {
    for (const id of ids) {
      this.pending.delete(id);
      this.cancelled.add(id);
    }
    this.tell({ toolCallCancellation: { ids } });
  }

  /** The model makes every call that is open once more, under other ids. */
  again(): void {
    if (this.pending.size === 0) return;
    const repeated = [...this.pending.values()].map((call) => ({ ...call, id: this.context.newCallId() }));
    const parts = repeated.map(({ id, name, args }) => ({ functionCall: { id, name, args } }));
    this.conversation.addModel({ role: 'model', parts });
    for (const { id, ...call } of repeated) this.pending.set(id, call);
    this.tell({ toolCall: { functionCalls: repeated.map(({ id, name, args }) => ({ id, name, args })) } });
  }

  private takeContent({ turns, turnComplete, ...rest }: Json): void {
    must(Object.keys(rest).length === 0, 1007, 'Unknown name at client_content: Cannot find field.');
    const all = readTurns(turns);
    const isHistory = this.takesHistory;
    for (const turn of all) {
      if (turn.role === 'user') this.conversation.addUser(turn);
      else this.conversation.addModel(turn);
    }
    if (turnComplete !== true) {
      if (all.length === 0) this.interrupt();
      return;
    }
    this.takesHistory = false;
    if (isHistory) return;
    this.interrupt();
    this.dropBlocking();
    void this.generate();
  }

  /** Whether the user speaks: enough of their sound has arrived. */
  get isHearing(): boolean {
    return this.speechDetector.isHearing;
  }

  private takeRealtime(input: Json): void {
    if (typeof input.text === 'string') {
      this.interrupt();
      return this.say(input.text);
    }
    if ('audio' in input) {
      const { data = '', mimeType } = input.audio as { data?: string; mimeType?: string };
      must(mimeType?.startsWith('audio/pcm'), 1007, 'Request contains an invalid argument.');
      const pcm = Buffer.from(data, 'base64');
      const words = /^SAY (.*)$/.exec(pcm.toString('utf8'))?.[1];
      if (words) this.speech += words;
      else this.listen(pcm);
    }
    if ('video' in input) this.shown = input.video as Blob;
    if ('activityStart' in input) this.interrupt();
    if ('audioStreamEnd' in input || 'activityEnd' in input) {
      const isSpeech = this.speechDetector.end() || this.hasPaused;
      this.hasPaused = false;
      this.heardEnd(isSpeech);
    }
  }

  /** When the service detects activity, speech interrupts the model and a pause ends the user's speech. Otherwise the client signals the end. */
  private listen(pcm: Buffer): void {
    const change = this.speechDetector.push(pcm);
    if (change === null) return;
    if (!this.setup.detectsActivity) {
      this.hasPaused ||= change === 'ended';
      return;
    }
    if (change === 'began') this.interrupt();
    else this.heardEnd(true);
  }

  private heardEnd(isSpeech: boolean): void {
    const words = this.speech || (isSpeech ? this.context.understand() : undefined);
    this.speech = '';
    if (words) this.hear(words);
  }

  private takeResponses(responses: ReturnType<typeof readResponses>): void {
    let isDue = false;
    for (const { id: given, name, response, scheduling } of responses) {
      const id = given ?? [...this.pending].find(([, call]) => call.name === name)?.[0] ?? '';
      must(!this.cancelled.has(id), 1008, 'Requested entity was not found.');
      if (this.dropped.has(id) || this.answered.has(id)) continue;
      const call = this.pending.get(id);
      if (!call && this.context.quirks.unknownIds === 'ignored') continue;
      must(call && call.name === name, 1008, 'Requested entity was not found.');
      this.pending.delete(id);
      this.answered.add(id);
      const answered = this.conversation.answer({ id, name, response } as FunctionResponse);
      if (scheduling === 'SILENT') continue;
      if (answered.kind === 'late') {
        this.conversation.addUser({ role: 'user', parts: [{ text: noticeOf(name, call.args, response) }] });
        isDue = true;
      }
      const isLast = ![...this.pending.values()].some(({ batch }) => batch === call.batch);
      if (isLast || this.context.quirks.speaksOfResults === 'one by one') isDue = true;
    }
    if (isDue && !this.speaking) void this.generate();
  }

  private say(text: string): void {
    this.dropBlocking();
    const inlineData = this.shown;
    this.shown = null;
    this.conversation.addUser({ role: 'user', parts: [...(inlineData ? [{ inlineData }] : []), { text }] });
    void this.generate();
  }

  /** After new input, Gemini 3.8 silently forgets the calls that block the conversation. */
  private dropBlocking(): void {
    if (this.context.family.behavior !== 'explicit') return;
    for (const [id, { isBlocking }] of this.pending) {
      if (!isBlocking) continue;
      this.pending.delete(id);
      this.dropped.add(id);
    }
  }

  private interrupt(): void {
    if (!this.speaking) return;
    this.speaking.isOver = true;
    this.speaking = null;
    this.tell({ serverContent: { interrupted: true } }, { serverContent: { turnComplete: true } });
  }

  private async generate(): Promise<void> {
    this.generated += 1;
    const speaking = { isOver: false };
    this.speaking = speaking;
    const { setup, context } = this;
    const tools = [...setup.isBlocking.keys()];
    const answer = await context.think({
      contents: this.conversation.contents(),
      tools,
      system: setup.system,
    });
    if (speaking.isOver) return;
    await this.speak(answer);
  }

  private async speak({ thought, text = '', calls }: Answer): Promise<void> {
    const { family, quirks } = this.context;
    const speaking = { isOver: false };
    this.speaking = speaking;
    const fault = this.context.nextFault();
    if (thought && quirks.thinksAloud) {
      this.tell({ serverContent: { modelTurn: { parts: [{ text: thought, thought: true }] } } });
    }
    if (family.reportsIdle && text) {
      this.tell({ serverContent: { turnComplete: true, interactionStatus: 'IN_PROGRESS' } });
    }
    const { voice, wait } = this.context;
    const data = voice ? soundOf(voice) : SILENCE;
    const words = pieces(text);
    let texts = '';
    for (const [index, piece] of words.entries()) {
      if (voice) await wait(voice.pieceMs / voice.haste);
      else await new Promise((resolve) => setImmediate(resolve));
      if (speaking.isOver) return this.remember(texts, this.send ? '' : words.slice(index).join(''));
      const sound = { inlineData: { mimeType: 'audio/pcm;rate=24000', data } };
      this.tell({ serverContent: { modelTurn: { parts: [sound] } } });
      if (quirks.transcripts === 'in time')
        this.tell({ serverContent: { outputTranscription: { text: piece } } });
      texts += piece;
      if (fault && index === Math.floor(words.length / 2)) {
        if (this.fail(fault)) return this.remember(texts, words.slice(index + 1).join(''));
      }
    }
    if (words.length === 0 && fault && this.fail(fault)) return;
    if (text) this.tell({ serverContent: { generationComplete: true } });
    // The turn ends when its sound has been played.
    if (voice) await wait(words.length * voice.pieceMs * (1 - 1 / voice.haste));
    if (speaking.isOver) return this.remember(texts, '');
    this.end(texts, calls);
  }

  /** Whether nothing more comes after it. */
  private fail(fault: TurnFault): boolean {
    if (fault === 'silence') {
      this.speaking = null;
      return true;
    }
    if (fault === 'interrupted') {
      this.interrupt();
      return true;
    }
    if (typeof fault === 'object' && 'tells' in fault) {
      this.tell(...fault.tells);
      return false;
    }
    this.context.breakSocket(this, fault);
    return typeof fault !== 'object' || 'close' in fault;
  }

  private remember(texts: string, rest: string): void {
    if (texts) this.conversation.addModel({ role: 'model', parts: [{ text: texts }] });
    this.rest = rest;
  }

  private end(texts: string, calls: Answer['calls']): void {
    const { quirks, isVertex, family, newCallId } = this.context;
    this.speaking = null;
    if (texts && quirks.transcripts === 'repeated') {
      this.tell({ serverContent: { outputTranscription: { text: texts, finished: true } } });
    }
    const made = calls.map(({ name, args }) => ({ id: newCallId(), name, args }));
    if (texts || made.length > 0) {
      const parts = made.map((functionCall) => ({ functionCall }));
      this.conversation.addModel({ role: 'model', parts: [...(texts ? [{ text: texts }] : []), ...parts] });
    }
    this.batch += 1;
    for (const { id, name, args } of made) {
      const isBlocking = this.setup.isBlocking.get(name) ?? true;
      this.pending.set(id, { name, args, isBlocking, batch: this.batch });
    }
    if (made.length > 0) {
      const functionCalls = isVertex ? made.map(({ id: _, ...call }) => call) : made;
      this.tell({ toolCall: { functionCalls } });
    }
    // Vertex has another name for the token count of the output.
    const output = isVertex ? 'candidates' : 'response';
    const usageMetadata = {
      promptTokenCount: 20,
      [`${output}TokenCount`]: 5,
      totalTokenCount: 25,
      promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 12 }],
      [`${output}TokensDetails`]: [{ modality: 'AUDIO', tokenCount: 4 }],
    };
    if (quirks.usage === 'alone') this.tell({ usageMetadata });
    if (made.some(({ name }) => this.setup.isBlocking.get(name))) return;
    this.tell({
      serverContent: {
        turnComplete: true,
        ...(family.reportsIdle ? { interactionStatus: 'IDLE' } : {}),
      },
      ...(quirks.usage === 'with the end' ? { usageMetadata } : {}),
    });
    if (texts && quirks.transcripts === 'late') {
      const sound = { inlineData: { mimeType: 'audio/pcm;rate=24000', data: SILENCE } };
      this.tell({ serverContent: { modelTurn: { parts: [sound] } } });
      this.tell({ serverContent: { outputTranscription: { text: texts } } });
    }
    if (quirks.usage === 'late') this.tell({ usageMetadata });
    if (quirks.handles === 'again and again') {
      this.tell({ sessionResumptionUpdate: { newHandle: this.handle, resumable: true } });
    }
  }

  private tell(...messages: Json[]): void {
    for (const message of messages) this.send?.(message);
  }
}
