import { LlmAgent } from '@google/adk';
import type { Message } from '../../../src/protocol/index.ts';
import { createDuologue, type Duologue, type SessionKey } from '../../../src/server/index.ts';
import { auditLines } from '../../../src/testing/store/setup.ts';
import { ManualClock } from '../../support/clock.ts';
import { say } from '../../support/harness.ts';
import { Journal } from './journal.ts';
import { type MadeCall, SteppedModel } from './models.ts';
import { type Coming, Page } from './page.ts';
import { Post } from './post.ts';
import { type Handle, WatchedStore } from './watched-store.ts';
import { Workbench } from './workbench.ts';

/** The server options, and the kind of model. */
export interface Setup {
  /** A model that is called turn by turn, or one that has a live mode of its own. */
  model: 'turns' | 'live';
  approvals: 'sequential' | 'parallel';
  whenBusy: 'queue' | 'interrupt';
}

/** A user message that the server may have accepted. */
export interface TextLog {
  text: string;
  /** The post that sent it; null for a frame. */
  post: Post | null;
  /** The process that received it. */
  process: number;
  /** The page that sent it, on which of its connections, and the request id. */
  page: Page | undefined;
  connection: number;
  requestId: string | undefined;
}

/** A call as the user sees it. */
export interface SeenCall {
  id: string;
  name: string;
  input: unknown;
  approvalId: string | undefined;
  isOpen: boolean;
}

const SESSION = 'talk';
const KEY: SessionKey = { app: 'duologue', user: 'live_user', id: SESSION };

/** Lets all pending work finish. Nothing here waits for a network or for real time. */
export async function settle(rounds = 4): Promise<void> {
  for (let i = 0; i < rounds; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** One conversation and all around it: the server, its store, model and tools, the user's pages, and time. */
export class World {
  readonly setup: Setup;
  readonly journal = new Journal();
  readonly bench = new Workbench(this.journal);
  readonly texts: TextLog[] = [];
  /** Calls that the user has approved with a valid answer. */
  readonly approved = new Set<string>();
  /** Calls that the model made. */
  readonly made: MadeCall[] = [];
  readonly pages: Page[] = [];
  readonly posts: Post[] = [];
  readonly store: WatchedStore;
  model: SteppedModel;
  process = 1;
  private clock = new ManualClock();
  private handle: Handle;
  private duologue: Duologue;
  private ids = 0;

  constructor(setup: Setup) {
    this.setup = setup;
    this.store = new WatchedStore(this.clock, this.journal);
    this.handle = this.store.open();
    this.model = this.newModel();
    this.duologue = this.newServer();
  }

  /** The page that is open, if one is. */
  get page(): Page | undefined {
    return this.pages.findLast(({ isOpen }) => isOpen);
  }

  /** Every call that a client received: open calls first, the newest of them first. */
  get seenCalls(): SeenCall[] {
    const seen = new Map<string, SeenCall>();
    for (const { chunk } of this.journal.chunks) {
      if (chunk.type === 'tool-input-available') {
        const { toolCallId: id, toolName: name, input } = chunk;
        if (!seen.has(id)) seen.set(id, { id, name, input, approvalId: undefined, isOpen: true });
      } else if (chunk.type === 'tool-approval-request') {
        const call = seen.get(chunk.toolCallId);
        if (call) call.approvalId = chunk.approvalId;
      } else if (chunk.type.startsWith('tool-output') && 'toolCallId' in chunk) {
        const call = seen.get(chunk.toolCallId);
        if (call) call.isOpen = false;
      }
    }
    return [...seen.values()].reverse().sort((a, b) => Number(b.isOpen) - Number(a.isOpen));
  }

  /** A page connects: an earlier one, or a new one. */
  async join(coming: Coming): Promise<void> {
    const known = this.pages.findLast(({ lastId }) => lastId !== undefined);
    const page = coming === 'back' && known ? known : new Page(`page${this.pages.length + 1}`, this.journal);
    if (!this.pages.includes(page)) this.pages.push(page);
    if (page.isOpen) page.leave();
    const way = page === known ? 'back' : coming === 'back' ? 'anew' : coming;
    await page.connect(this.duologue, SESSION, way).catch((error: unknown) => {
      this.journal.add({ kind: 'server', text: `refuses ${page.name}: ${String(error)}` });
    });
  }

  /** The user sends a text; `isNamed`: the request has an id, and is sent again until the server replies. */
  say(isNamed = false): void {
    const { page, process } = this;
    const text = `m${this.texts.length + 1}`;
    const requestId = isNamed ? `r${this.texts.length + 1}` : undefined;
    this.texts.push({ text, post: null, process, page, connection: page?.connections ?? 0, requestId });
    page?.say({ id: text, role: 'user', parts: [{ type: 'text', text }] }, requestId);
  }

  postMessage(): void {
    const text = `m${this.texts.length + 1}`;
    const post = this.post(say(text, SESSION, text));
    this.texts.push({
      text,
      post,
      process: this.process,
      page: undefined,
      connection: 0,
      requestId: undefined,
    });
  }

  postAnswer(part: object): void {
    this.post({ id: SESSION, messages: [{ id: 'any', role: 'assistant', parts: [part] }] });
  }

  postContinuation(messageId: string): void {
    this.post({ id: SESSION, trigger: 'continue-message', messageId });
  }

  stop(): void {
    const request = new Request(`http://localhost/sessions/${SESSION}/stop`, { method: 'POST' });
    this.duologue.fetch(request).catch(() => undefined);
  }

  pass(ms: number): void {
    this.clock.advance(ms);
  }

  /** The messages that the server returns now. */
  async messages(): Promise<Message[]> {
    const response = await this.duologue.fetch(new Request(`http://localhost/sessions/${SESSION}`));
    return response.status === 200 ? ((await response.json()) as { messages: Message[] }).messages : [];
  }

  openCalls() {
    return this.store.inner.openCalls(KEY);
  }

  auditLog() {
    return auditLines(this.store.inner, KEY);
  }

  async events() {
    return (await this.store.inner.loadSession(KEY))?.events ?? [];
  }

  /** The server is shut down in order; false when it does not finish. */
  async shutDown(): Promise<boolean> {
    let isClosed = false;
    this.store.release();
    this.journal.add({ kind: 'server', text: 'shuts down' });
    const closing = this.duologue.close().then(() => {
      isClosed = true;
    });
    for (let i = 0; i < 300 && !isClosed; i++) {
      await settle(1);
      this.clock.advance(100);
    }
    if (isClosed) await closing;
    this.gone();
    return isClosed;
  }

  /** The process dies. */
  kill(): void {
    this.journal.add({ kind: 'server', text: 'is killed' });
    this.handle.die();
    this.store.release();
    for (const post of this.posts) post.die();
    this.gone();
  }

  /** Starts another process on the same store. */
  start(): void {
    this.journal.add({ kind: 'server', text: 'starts' });
    this.process += 1;
    this.clock = new ManualClock(this.clock.now());
    this.handle = this.store.open();
    this.model = this.newModel();
    this.duologue = this.newServer();
  }

  private gone(): void {
    for (const page of this.pages) page.cut();
    this.bench.clear();
  }

  private post(body: object): Post {
    const post = new Post(`post${this.posts.length + 1}`, this.journal);
    this.posts.push(post);
    post.begin(this.duologue, body);
    return post;
  }

  private newModel(): SteppedModel {
    return new SteppedModel({
      nativeLive: this.setup.model === 'live',
      journal: this.journal,
      made: this.made,
    });
  }

  private newServer(): Duologue {
    const { approvals, whenBusy } = this.setup;
    const agent = new LlmAgent({ name: 'assistant', model: this.model, tools: this.bench.tools() });
    return createDuologue({
      agent,
      store: this.handle.store,
      clock: this.clock,
      newId: () => String(++this.ids).padStart(8, '0'),
      approvals,
      whenBusy,
      rateLimit: false,
      socketLimits: {
        framesPerSecond: 100_000,
        silenceMs: Number.POSITIVE_INFINITY,
        idleMs: Number.POSITIVE_INFINITY,
      },
    });
  }
}
