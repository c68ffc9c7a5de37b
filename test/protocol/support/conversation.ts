import fc from 'fast-check';
import type { Chunk, GrammarMode, TokenUsage, ToolFacts } from '../../../src/protocol/index.ts';

const NO_USAGE: TokenUsage = {
  input: null,
  output: null,
  cacheRead: null,
  cacheWrite: null,
  reasoning: null,
  total: null,
};

/** What happens to one assistant message: chunks of a response, or a click of the user between two responses. */
export type Act =
  | { kind: 'response'; chunks: Chunk[] }
  | { kind: 'decision'; toolCallId: string; approved: boolean; reason: string };

interface Call extends ToolFacts {
  /** The complete input, once it is known. */
  input?: { value: unknown };
  /** Whether a step began since: its input cannot be shown any more. */
  isEarlier?: true;
  state: 'streaming' | 'ready' | 'asked' | 'approved' | 'denied' | 'settled';
}

interface Draw {
  pick: number;
  word: string;
  value: unknown;
}

/** Builds any sequence of chunks of one assistant message that the grammar allows, from a list of random numbers. */
export function conversation(mode: GrammarMode): fc.Arbitrary<Act[]> {
  const draw = fc.record({
    pick: fc.nat(),
    word: fc.oneof(fc.string(), fc.constantFrom('', '\u2028', '\ud83d', '💸')),
    value: fc.jsonValue({ maxDepth: 2 }),
  });
  return fc.array(draw, { maxLength: 60, size: 'max' }).map((draws) => new Story(mode).tell(draws));
}

class Story {
  private readonly mode: GrammarMode;
  private readonly acts: Act[] = [];
  private readonly calls = new Map<string, Call>();
  private readonly blocks = new Map<string, 'text' | 'reasoning'>();
  private chunks: Chunk[] | null = null;
  private count = 0;
  private hasStep = false;

  constructor(mode: GrammarMode) {
    this.mode = mode;
  }

  tell(draws: Draw[]): Act[] {
    for (const draw of draws) {
      const options = this.chunks ? this.inResponse(draw) : this.between(draw);
      options[draw.pick % options.length]?.();
    }
    if (this.chunks) this.finish();
    return this.acts;
  }

  private say(...chunks: Chunk[]): void {
    this.chunks?.push(...chunks);
  }

  private between({ word, value, pick }: Draw): (() => void)[] {
    const asked = [...this.calls].filter(([, call]) => call.state === 'asked');
    return [
      () => {
        this.chunks = [];
        this.say({
          type: 'start',
          messageId: 'm1',
          ...(pick % 2 ? { messageMetadata: { createdAt: pick } } : {}),
        });
        if (value === null) this.say({ type: 'message-metadata', messageMetadata: { modelVersion: word } });
      },
      ...asked.map(([toolCallId, call]) => () => {
        call.state = pick % 3 ? 'approved' : 'denied';
        this.acts.push({ kind: 'decision', toolCallId, approved: call.state === 'approved', reason: word });
      }),
    ];
  }

  private inResponse(draw: Draw): (() => void)[] {
    return [
      ...this.blockOptions(draw),
      ...[...this.calls].flatMap(([id, call]) => this.callOptions(id, call, draw)),
      ...this.otherOptions(draw),
    ];
  }

  private blockOptions({ word }: Draw): (() => void)[] {
    const id = `b${this.count}`;
    const open = (kind: 'text' | 'reasoning') => () => {
      this.count += 1;
      this.blocks.set(id, kind);
      this.say({ type: `${kind}-start`, id });
    };
    return [
      open('text'),
      open('reasoning'),
      ...[...this.blocks].flatMap(([block, kind]) => [
        () => this.say({ type: `${kind}-delta`, id: block, delta: word }),
        () => this.say({ type: `${kind}-delta`, id: block, delta: `${word}.` }),
        () => this.close(block, kind),
      ]),
    ];
  }

  private close(id: string, kind: 'text' | 'reasoning'): void {
    this.blocks.delete(id);
    this.say({ type: `${kind}-end`, id });
  }

  private closeAll(): void {
    for (const [id, kind] of this.blocks) this.close(id, kind);
  }

  private callOptions(toolCallId: string, call: Call, { word, value }: Draw): (() => void)[] {
    const become = (state: Call['state'], ...chunks: Chunk[]) => {
      call.state = state;
      this.say(...chunks);
    };
    const toolMetadata = { runsOn: call.runsOn, asks: call.asks };
    const input = () => {
      if (call.runsOn === 'client' && !call.asks) this.closeAll();
      call.input ??= { value };
      const { value: input } = call.input;
      this.say({ type: 'tool-input-available', toolCallId, toolName: 'pay', input, toolMetadata });
    };
    const output = () => become('settled', { type: 'tool-output-available', toolCallId, output: value });
    const progress = () =>
      this.say({ type: 'tool-output-available', toolCallId, output: value, preliminary: true });
    const fail = () => become('settled', { type: 'tool-output-error', toolCallId, errorText: word });
    const deny = () => become('settled', { type: 'tool-output-denied', toolCallId });
    const ask = () => {
      this.closeAll();
      const request: Chunk = {
        type: 'tool-approval-request',
        toolCallId,
        approvalId: `approval_${toolCallId}`,
        ...(word ? { approvalDescriptor: { expiresAt: word.length } } : {}),
      };
      if (this.mode === 'sse') become('asked', request);
      else become('asked', { type: 'start-step' }, request, { type: 'finish-step' });
    };
    switch (call.state) {
      case 'streaming':
        return [
          () => {
            input();
            call.state = 'ready';
          },
          fail,
        ];
      case 'ready':
        if (!call.asks) return [output, fail, ...(call.runsOn === 'server' ? [progress] : [])];
        return this.hasStep ? [fail] : [ask, ask, fail];
      case 'asked':
        return [fail];
      case 'approved':
        if (call.runsOn === 'server') return [output, fail, progress];
        return [output, fail, ...(call.isEarlier ? [] : [input])];
      case 'denied':
        return [fail, deny];
      case 'settled':
        return [];
    }
  }

  private otherOptions({ word, value, pick }: Draw): (() => void)[] {
    return [
      () => {
        const id = pick % 5 === 0 ? ['__proto__', 'constructor', 'toString'][this.calls.size] : undefined;
        const call: Call = { runsOn: pick % 2 ? 'server' : 'client', asks: pick % 3 > 0, state: 'streaming' };
        const toolCallId = id ?? `c${this.calls.size}`;
        if (this.calls.has(toolCallId)) return;
        this.calls.set(toolCallId, call);
        const toolMetadata = { runsOn: call.runsOn, asks: call.asks };
        this.say({
          type: 'tool-input-start',
          toolCallId,
          toolName: 'pay',
          toolMetadata,
        });
      },
      () => this.say({ type: 'file', mediaType: 'image/png', url: `/files/${word}` }),
      () => this.say({ type: 'source-url', sourceId: word, url: word, ...(pick % 2 ? { title: word } : {}) }),
      () => this.say({ type: 'data-executable-code', data: { language: word, code: word } }),
      () => this.say({ type: 'data-image', id: `${pick % 3}`, data: { mediaType: word, data: word } }),
      () =>
        this.say({
          type: 'data-transcript',
          transient: true,
          data: { role: 'user', text: word, finished: true },
        }),
      () =>
        this.say({
          type: 'message-metadata',
          messageMetadata: {
            usage: pick % 3 ? { ...NO_USAGE, [pick % 5 ? 'input' : 'output']: pick } : null,
            ...(pick % 2 ? { rawFinishReason: word } : {}),
            ...(Array.isArray(value) ? { citations: [] } : {}),
          },
        }),
      () => this.finish(),
      () => this.step(),
    ];
  }

  /** The continuation of the confirmation dialect begins a step over SSE. */
  private step(): void {
    const calls = [...this.calls.values()];
    if (this.mode === 'bidi' || this.hasStep || calls.some(({ state }) => state === 'streaming')) return;
    if (calls.some(({ state, asks }) => state === 'ready' && asks)) return;
    this.hasStep = true;
    for (const call of calls) call.isEarlier = true;
    this.say({ type: 'start-step' });
  }

  private finish(): void {
    this.closeAll();
    this.say({
      type: 'finish',
      finishReason: 'stop',
      messageMetadata: { audio: { chunks: this.count, bytes: 2, sampleRate: 24_000, duration: 1 } },
    });
    this.acts.push({ kind: 'response', chunks: this.chunks ?? [] });
    this.chunks = null;
    this.hasStep = false;
  }
}
