import { exhaustive } from '../../protocol/exhaustive.ts';
import type { Call, Conversation, Turn } from './conversation.ts';
import { type Bilingual, type Language, say } from './understand/language.ts';

/** How a tool call ended, as far as its response says. */
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

/** A call that ended, or still waits, with how it did. */
export interface Settled {
  call: Call;
  outcome: Outcome;
}

/** Reads a tool's response; nothing counts as done that does not look like it. */
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
  // An object may have no text of its own.
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

/** The calls of one tool in the order they were made. */
export function callsOf(turns: readonly Turn[], tool: string): Call[] {
  return turns.flatMap((turn) => turn.calls).filter((call) => call.name === tool);
}

/** Calls that still wait for the person. */
export function waitingCalls(conversation: Conversation): Settled[] {
  return conversation.turns
    .flatMap((turn) => turn.calls)
    .map((call) => ({ call, outcome: outcomeOf(call) }))
    .filter(({ outcome }) => outcome.kind === 'pending');
}

/** The last turns, the newest last, without the one being answered. */
export function earlierTurns(conversation: Conversation, most = 30): Turn[] {
  return conversation.turns.slice(0, -1).slice(-most);
}

/** The turn before the one being answered. */
export function previousTurn(conversation: Conversation): Turn | undefined {
  return conversation.turns.at(-2);
}

/**
 * Says how a call ended that did not succeed; undefined for one that did. `subject` is what was tried ("the payment of
 * $50 to Bob"), `reasonsJa` are the tool's own reasons in Japanese.
 */
export function troubleText(
  language: Language,
  subject: Bilingual,
  outcome: Outcome,
  reasonsJa: readonly [RegExp, string][] = [],
): string | undefined {
  const { en, ja } = subject;
  const start = en.charAt(0).toUpperCase() + en.slice(1);
  const notDone = 'so it did not happen.';
  const words = (english: string, japanese: string) => say(language, english, `${ja}${japanese}`);
  switch (outcome.kind) {
    case 'done':
      return undefined;
    case 'pending':
      return words(`${start} is still waiting for you.`, 'は、まだあなたの返答を待っています。');
    case 'denied': {
      const { reason } = outcome;
      const because = reason === undefined ? '' : say(language, ` (${reason})`, `（理由：${reason}）`);
      return words(
        `${start} was denied${because}, ${notDone}`,
        `は承認されなかったため${because}、行っていません。`,
      );
    }
    case 'approval-timeout':
      return words(
        `The approval for ${en} timed out, ${notDone}`,
        'は承認の期限が切れたため、行っていません。',
      );
    case 'result-timeout':
      return words(`No result came in time for ${en}.`, 'は、時間内に結果が届きませんでした。');
    case 'unknown':
      return words(
        `The outcome of ${en} is unknown: it may or may not have happened. Please check before you ask again.`,
        'は結果が不明です。行われたかどうか分からないため、もう一度依頼する前に確認してください。',
      );
    case 'cancelled':
      return words(`${start} was cancelled, ${notDone}`, 'は取り消されたため、行っていません。');
    case 'refused': {
      const { why } = outcome;
      return words(
        `${start} was refused: ${sentence(why)}`,
        `はできませんでした：${reasonJa(why, reasonsJa)}`,
      );
    }
    case 'failed': {
      const why = outcome.why || say(language, 'no reason was given.', '理由は示されませんでした。');
      return words(`${start} failed: ${sentence(why)}`, `は失敗しました：${reasonJa(why, reasonsJa)}`);
    }
    case 'silent':
      return words(
        `I got no result for ${en}, so I cannot say whether it happened.`,
        'の結果が届いていないため、行われたかどうか分かりません。',
      );
    default:
      return exhaustive(outcome);
  }
}

function sentence(text: string): string {
  return /[.!?。]$/.test(text) ? text : `${text}.`;
}

function reasonJa(why: string, reasons: readonly [RegExp, string][]): string {
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(why)) return /[。！？]$/.test(why) ? why : `${why}。`;
  const known = reasons.find(([pattern]) => pattern.test(why))?.[1];
  return known === undefined ? `「${why}」` : `${known}（${why}）`;
}
