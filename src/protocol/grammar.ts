import type { z } from 'zod/v4';
import type { Chunk } from './chunks.ts';
import { isSettled, type ToolCallEvent, type ToolCallState, transition } from './tool-call.ts';
import { chunkSchema } from './wire/chunks.ts';
import { TRANSIENT_DATA } from './wire/data.ts';

/** The transport of the checked chunks. Over BIDI, `start-step` and `finish-step` surround approval requests (C8). Over SSE there is no `finish-step`. */
export type GrammarMode = 'sse' | 'bidi';

type Say = (message: string) => void;

/**
 * Checks the fields and the order of the chunks of one session, response after response. `push` returns one text for each fault of
 * a chunk; the list is empty when the chunk is right. This class is for tests, because it validates every chunk with zod, which is slow.
 */
export class Grammar {
  private readonly mode: GrammarMode;
  private readonly own: readonly string[];
  private readonly schemas = new Map<string, z.ZodType | null>();
  private readonly calls = new Map<string, ToolCallState>();
  private readonly earlier = new Set<string>();
  private readonly open = new Map<string, 'text' | 'reasoning'>();
  private started = false;
  private finished = false;
  private step: 'none' | 'empty' | 'asking' = 'none';

  /** `own`: the names of the `data-*` chunks that the application declared, without `data-`. */
  constructor(mode: GrammarMode, own: readonly string[] = []) {
    this.mode = mode;
    this.own = own;
  }

  push(chunk: Chunk): string[] {
    const wrong: string[] = [];
    const say = (message: string) => wrong.push(`${chunk.type}: ${message}`);
    const schema = this.schemaOf(chunk.type);
    if (schema === null) {
      say('is no chunk of this protocol');
      return wrong;
    }
    for (const message of wrongFields(schema, chunk)) say(message);
    if (chunk.type.startsWith('data-')) {
      if ('transient' in chunk && chunk.transient) return wrong;
      if (transient.has(chunk.type)) say('must be transient');
    }
    if (chunk.type === 'start') {
      this.closed(say);
      if (this.mode === 'bidi' && this.step !== 'none') say('a step is still open');
      this.started = true;
      this.finished = false;
      return wrong;
    }
    if (!this.started) say('comes before any start');
    if (this.finished) say('comes after finish, without a start');
    if (this.mode === 'bidi' && this.step !== 'none' && !inStep.has(chunk.type))
      say('is inside the step of an approval request');
    switch (chunk.type) {
      case 'text-start':
      case 'reasoning-start':
        if (this.open.has(chunk.id)) say(`block ${chunk.id} is open already`);
        this.open.set(chunk.id, chunk.type === 'text-start' ? 'text' : 'reasoning');
        break;
      case 'text-delta':
      case 'reasoning-delta':
      case 'text-end':
      case 'reasoning-end':
        if (this.open.get(chunk.id) !== chunk.type.split('-')[0]) say(`block ${chunk.id} is not open`);
        else if (chunk.type.endsWith('-end')) this.open.delete(chunk.id);
        break;
      case 'start-step':
        if (this.mode === 'bidi' && this.step !== 'none') say('a step is open already');
        // The AI SDK searches only the last step for the call of a `tool-input-available`. So over SSE, no earlier call may get one after this
        // chunk. Over BIDI the SDK does not see these steps: our transports remove those around approval requests, and add a step only when every call
        // of the message has an outcome.
        if (this.mode === 'sse') for (const id of this.calls.keys()) this.earlier.add(id);
        this.step = 'empty';
        break;
      case 'finish-step':
        this.finishStep(say);
        break;
      case 'tool-input-start':
        if (this.calls.has(chunk.toolCallId)) say(`call ${chunk.toolCallId} is known already`);
        else this.calls.set(chunk.toolCallId, 'input-streaming');
        break;
      case 'tool-input-available':
        if (this.earlier.has(chunk.toolCallId)) say(`call ${chunk.toolCallId} is of an earlier step`);
        // The server sends this chunk a second time for an approved client call whose output is missing.
        if (this.calls.get(chunk.toolCallId) !== 'approval-requested')
          this.move(chunk.toolCallId, 'input', say);
        // The response ends after the call of a client tool, and a later response cannot continue an open text block.
        if (chunk.toolMetadata?.runsOn === 'client' && chunk.toolMetadata.asks !== true) this.closed(say);
        break;
      case 'tool-approval-request':
        this.closed(say);
        if (this.mode === 'bidi' && this.step === 'none') say('is outside a step');
        if (this.mode === 'sse' && this.step !== 'none' && this.earlier.has(chunk.toolCallId))
          say('is in a later step than its call');
        if (this.step === 'empty') this.step = 'asking';
        this.move(chunk.toolCallId, 'ask', say);
        break;
      case 'tool-output-available':
        this.move(chunk.toolCallId, chunk.preliminary ? 'progress' : 'output', say, 'approve');
        break;
      case 'tool-output-error':
        this.move(chunk.toolCallId, 'fail', say);
        break;
      case 'tool-output-denied':
        this.move(chunk.toolCallId, 'refuse', say, 'deny');
        break;
      case 'finish':
        this.closed(say);
        this.step = 'none';
        this.finished = true;
        break;
      default:
        // Every other chunk may come anywhere in a message, but not in the step of an approval request, which is checked above.
        break;
    }
    return wrong;
  }

  /** Call it at the end of the stream. Returns one text for each fault, such as an open text block or a missing `finish`. */
  end(): string[] {
    const wrong: string[] = [];
    this.closed((message) => wrong.push(`end: ${message}`));
    if (this.started && !this.finished) wrong.push('end: no finish');
    return wrong;
  }

  /** The ids of the calls that have no outcome. */
  openCalls(): string[] {
    return [...this.calls].filter(([, state]) => !isSettled(state)).map(([id]) => id);
  }

  private schemaOf(type: string): z.ZodType | null {
    const known = this.schemas.get(type);
    if (known !== undefined) return known;
    const schema = chunkSchema(type, this.own);
    this.schemas.set(type, schema);
    return schema;
  }

  private closed(say: Say): void {
    if (this.open.size > 0) say(`text blocks still open: ${[...this.open.keys()].join(', ')}`);
  }

  private finishStep(say: Say): void {
    if (this.mode === 'sse') say('SSE carries no finish-step');
    else if (this.step === 'none') say('no step is open');
    else if (this.step === 'empty') say('the step asked for no approval');
    this.step = 'none';
  }

  /**
   * Moves a call to the state after `event`. No chunk of a message carries the user's decision. So `unseen` names the decision that the
   * user must have made between the previous chunk of the call and this one.
   */
  private move(id: string, event: ToolCallEvent, say: Say, unseen?: ToolCallEvent): void {
    const state = this.calls.get(id);
    if (!state) {
      say(`call ${id} was never announced`);
      return;
    }
    const decided = unseen && transition(state, unseen);
    const next = transition(decided ?? state, event);
    if (next) this.calls.set(id, next);
    else say(`call ${id} is ${state}`);
  }
}

const transient: ReadonlySet<string> = new Set(TRANSIENT_DATA.map((name) => `data-${name}`));

/** The chunks that may come in a step over BIDI. */
const inStep: ReadonlySet<string> = new Set(['start-step', 'tool-approval-request', 'finish-step']);

/** Returns one text for each field of a chunk that is missing, unknown, or of the wrong type. */
function wrongFields(schema: z.ZodType, chunk: Chunk): string[] {
  const { error } = schema.safeParse(chunk, { reportInput: true });
  return (error?.issues ?? []).flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => `has a field "${key}"`);
    const field = issue.path.join('.').replace(/^data\./, '');
    return [issue.input === undefined ? `lacks "${field}"` : `"${field}": ${issue.message}`];
  });
}
