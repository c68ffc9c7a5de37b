import { exhaustive } from '../../protocol/exhaustive.ts';
import type { Call, Conversation, Turn } from './conversation.ts';
import { TEXTS } from './texts/index.ts';
import type { Bilingual, Language } from './understand/language.ts';

/** How a tool call ended, according to its response. `silent`: the call has no response, or an empty one. */
export type Outcome =
  | { kind: 'done'; value: Record<string, unknown> }
  | { kind: 'pending' }
  | { kind: 'denied'; reason?: string }
  | { kind: 'approval-timeout' }
  | { kind: 'result-timeout' }
  | { kind: 'unknown' }
  | { kind: 'cancelled' }
  | { kind: 'refused'; why: string }
  | { kind: 'failed'; why: string }
  | { kind: 'silent' };

/** A call with its outcome, which may still be pending. */
export interface Settled {
  call: Call;
  outcome: Outcome;
}

/** Reads the outcome from a tool's response. A missing or empty response is `silent`, never `done`. */
export function outcomeOf(call: Call): Outcome {
  const response = unwrapped(call.response);
  if (response === undefined) return { kind: 'silent' };
  if (response.status === 'pending' || response.pending === true) return { kind: 'pending' };
  const error = errorIn(response);
  if (error !== undefined) return outcomeOfError(error, response.success === false);
  if (response.success === false) return { kind: 'failed', why: textOf(response.message) ?? '' };
  return Object.keys(response).length === 0 ? { kind: 'silent' } : { kind: 'done', value: response };
}

function unwrapped(response: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  const keys = Object.keys(response ?? {});
  const inner = keys.length === 1 ? (response?.result ?? response?.output) : undefined;
  return isRecord(inner) ? inner : response;
}

function errorIn(response: Record<string, unknown>): string | undefined {
  const { error } = response;
  if (error === undefined || error === null || error === false) return undefined;
  if (isRecord(error)) return textOf(error.message) ?? JSON.stringify(error);
  // A list of objects: `String` would write each of them as `[object Object]`.
  return textOf(error) ?? (typeof error === 'object' ? JSON.stringify(error) : String(error));
}

function outcomeOfError(error: string, isRefusal: boolean): Outcome {
  const denied =
    /^(?:user denied\b[^:]*|this tool call is rejected\.?|.*\bdenied by (?:the )?user\b[^:]*)(?::\s*(?<reason>.+))?$/is.exec(
      error,
    );
  if (denied !== null) {
    const reason = denied.groups?.reason?.trim();
    return reason ? { kind: 'denied', reason } : { kind: 'denied' };
  }
  if (/outcome (?:is )?unknown|may or may not have/i.test(error)) return { kind: 'unknown' };
  if (/approval .*(?:timed out|expired)|approval expired/i.test(error)) return { kind: 'approval-timeout' };
  if (/^timeout waiting for|timed out/i.test(error)) return { kind: 'result-timeout' };
  if (/supersed|cancel|interrupt|abort/i.test(error)) return { kind: 'cancelled' };
  const words = error.replace(/^Error in tool '[^']*':\s*/, '');
  const isJudgement =
    isRefusal ||
    /insufficient|invalid|unsupported|not supported|must be|only .*supported|too (?:large|small|many|precise)/i.test(
      words,
    );
  return isJudgement ? { kind: 'refused', why: words } : { kind: 'failed', why: words };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The calls of one tool, in the order in which they were made. */
export function callsOf(turns: readonly Turn[], tool: string): Call[] {
  return turns.flatMap((turn) => turn.calls).filter((call) => call.name === tool);
}

/** The calls whose response says that they are pending. */
export function waitingCalls(conversation: Conversation): Settled[] {
  return conversation.turns
    .flatMap((turn) => turn.calls)
    .map((call) => ({ call, outcome: outcomeOf(call) }))
    .filter(({ outcome }) => outcome.kind === 'pending');
}

/** The last `most` turns before the one being answered, the newest last. */
export function earlierTurns(conversation: Conversation, most = 30): Turn[] {
  return conversation.turns.slice(0, -1).slice(-most);
}

/** The turn before the one being answered. */
export function previousTurn(conversation: Conversation): Turn | undefined {
  return conversation.turns.at(-2);
}

/**
 * The text that tells the user how an unsuccessful call ended; undefined for a successful call. `subject` says what the call tried to do
 * ("the payment of $50 to Bob"). `reasonsJa` maps patterns of the tool's error texts to Japanese texts.
 */
export function troubleText(
  language: Language,
  subject: Bilingual,
  outcome: Outcome,
  reasonsJa: readonly [RegExp, string][] = [],
): string | undefined {
  const texts = TEXTS[language].results;
  const about = subject[language];
  const reason = (why: string) => texts.reason((language === 'ja' && translated(why, reasonsJa)) || why);
  switch (outcome.kind) {
    case 'done':
      return undefined;
    case 'pending':
      return texts.pending(about);
    case 'denied':
      return texts.denied(about, outcome.reason);
    case 'approval-timeout':
      return texts.approvalTimeout(about);
    case 'result-timeout':
      return texts.resultTimeout(about);
    case 'unknown':
      return texts.unknown(about);
    case 'cancelled':
      return texts.cancelled(about);
    case 'refused':
      return texts.refused(about, reason(outcome.why));
    case 'failed':
      return texts.failed(about, reason(outcome.why || texts.noReason));
    case 'silent':
      return texts.silent(about);
    default:
      return exhaustive(outcome);
  }
}

/** The text of the first pattern that matches `why`, with the groups of the match in place of `$1` and `$2`. */
function translated(why: string, reasons: readonly [RegExp, string][]): string | undefined {
  for (const [pattern, text] of reasons) {
    const groups = pattern.exec(why);
    if (groups) return text.replace(/\$(\d)/g, (_, index: string) => groups[Number(index)] ?? '');
  }
  return undefined;
}
