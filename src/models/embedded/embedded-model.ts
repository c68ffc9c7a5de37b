import { BaseLlm, type BaseLlmConnection, type LlmRequest, type LlmResponse } from '@google/adk';
import { FinishReason } from '@google/genai';
import { TurnBasedLiveConnection } from '../live/turn-based.ts';
import type { DecodeImage } from './colours.ts';
import { readContinuation, readConversation } from './conversation.ts';
import type { Reply, Rule } from './rule.ts';
import { FIRST_RULES, LAST_RULES } from './rules/index.ts';
import { TEXTS } from './texts/index.ts';
import { think } from './think.ts';
import { type Language, languageOf } from './understand/language.ts';

/** The name of the embedded model as ADK knows it. */
export const EMBEDDED_MODEL = 'duologue-embedded';

/** How the embedded model speaks, and what it knows besides general talk. */
export interface EmbeddedModelOptions {
  /** Milliseconds between two pieces of a streamed text, 15 by default; 0 streams without waiting. */
  paceMs?: number;
  /** Whether the model emits a short thought before each answer; true by default. */
  thinks?: boolean;
  /** Rules of the application, one or more for each of its tools. They are tried before the rules for general talk. */
  rules?: readonly Rule[];
  /** Decodes pictures, for their main colours. Without it the model tells only the format and size of a picture. */
  decodeImage?: DecodeImage;
}

type Part = NonNullable<NonNullable<LlmResponse['content']>['parts']>[number];

/**
 * A model made of rules instead of an LLM: it needs no key and no network, and keeps no state between two calls.
 *
 * @example
 * const agent = new LlmAgent({ name: 'assistant', model: new EmbeddedModel({ rules: [refundRule] }) });
 */
export class EmbeddedModel extends BaseLlm {
  static override readonly supportedModels = [EMBEDDED_MODEL];

  private readonly paceMs: number;
  private readonly thinks: boolean;
  private readonly rules: readonly Rule[];
  private readonly decodeImage: DecodeImage;

  constructor(options: EmbeddedModelOptions = {}) {
    super({ model: EMBEDDED_MODEL });
    this.paceMs = options.paceMs ?? 15;
    this.thinks = options.thinks ?? true;
    this.rules = [...FIRST_RULES, ...(options.rules ?? []), ...LAST_RULES];
    this.decodeImage = options.decodeImage ?? (async () => null);
  }

  override async *generateContentAsync(
    request: LlmRequest,
    stream = false,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    const reply = await this.reply(request);
    const thought = this.thinks ? reply.thought : undefined;
    const parts: Part[] = [
      ...(thought === undefined ? [] : [{ text: thought, thought: true }]),
      ...(reply.text === undefined ? [] : [{ text: reply.text }]),
    ];
    if (stream) {
      for (const part of parts) {
        for (const piece of piecesOf(part.text ?? '')) {
          if (abortSignal?.aborted) return;
          yield { content: { role: 'model', parts: [{ ...part, text: piece }] }, partial: true };
          await pause(this.paceMs, abortSignal);
        }
      }
    }
    if (abortSignal?.aborted) return;
    // Only the final response has the calls, because ADK would also run calls of a partial response. ADK assigns their ids.
    const calls = (reply.calls ?? []).map(({ name, args }) => ({
      functionCall: { name, args: { ...args } },
    }));
    yield {
      content: { role: 'model', parts: [...parts, ...calls] },
      partial: false,
      finishReason: FinishReason.STOP,
      modelVersion: EMBEDDED_MODEL,
    };
  }

  override async connect(request: LlmRequest): Promise<BaseLlmConnection> {
    return new TurnBasedLiveConnection(this, request);
  }

  private async reply(request: LlmRequest): Promise<Partial<Reply>> {
    const cut = readContinuation(request.contents);
    const conversation = readConversation(cut?.contents ?? request.contents);
    const tools = toolNames(request);
    const language = conversation.turns.reduce<Language>(
      (before, turn) => languageOf(turn.excerpt ?? turn.text, before),
      'en',
    );
    const reply = await think(this.rules, {
      text: conversation.turns.at(-1)?.text ?? '',
      language,
      conversation,
      can: (tool) => tools.has(tool),
      decodeImage: this.decodeImage,
      rules: this.rules,
    });
    return cut ? { text: restOf(reply, cut.written, language) } : reply;
  }
}

/**
 * The rest of an answer that was cut off. The rules usually give the same answer again, so the rest is the text after `written`. If no rest is found, the
 * text says that the model cannot continue.
 */
function restOf({ text = '' }: Partial<Reply>, written: string, language: Language): string {
  const rest = text.startsWith(written) ? text.slice(written.length) : '';
  if (rest.trim() !== '') return rest;
  return TEXTS[language].cannotContinue;
}

function toolNames(request: LlmRequest): Set<string> {
  const declared = (request.config?.tools ?? []).flatMap((tool) =>
    'functionDeclarations' in tool
      ? (tool.functionDeclarations ?? []).map((declaration) => declaration.name ?? '')
      : [],
  );
  return new Set([...Object.keys(request.toolsDict ?? {}), ...declared]);
}

const PIECE =
  /\s+|[^\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー、。「」]+\s*|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー、。「」]{1,3}\s*/gu;

/** Cuts a text into the pieces in which it is streamed: words, or up to three Japanese characters. Joined, the pieces are the text. */
export function piecesOf(text: string): string[] {
  return text.match(PIECE) ?? [];
}

/** Waits. Resolves at once when the time is 0 or the signal is aborted, and as soon as the signal aborts. */
function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  if (milliseconds <= 0 || signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener('abort', done);
  });
}
