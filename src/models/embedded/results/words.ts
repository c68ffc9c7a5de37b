import { exhaustive } from '../../../protocol/exhaustive.ts';
import { type Bilingual, type Language, say } from '../understand/language.ts';
import type { Outcome } from './outcome.ts';

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
  const subjectEn = en.charAt(0).toUpperCase() + en.slice(1);
  switch (outcome.kind) {
    case 'done':
      return undefined;
    case 'pending':
      return say(
        language,
        `${subjectEn} is still waiting for you.`,
        `${ja}は、まだあなたの返答を待っています。`,
      );
    case 'denied': {
      const because =
        outcome.reason === undefined
          ? ''
          : say(language, ` (${outcome.reason})`, `（理由：${outcome.reason}）`);
      return say(
        language,
        `${subjectEn} was denied${because}, so it did not happen.`,
        `${ja}は承認されなかったため${because}、行っていません。`,
      );
    }
    case 'approval-timeout':
      return say(
        language,
        `The approval for ${en} timed out, so it did not happen.`,
        `${ja}は承認の期限が切れたため、行っていません。`,
      );
    case 'result-timeout':
      return say(language, `No result came in time for ${en}.`, `${ja}は、時間内に結果が届きませんでした。`);
    case 'unknown':
      return say(
        language,
        `The outcome of ${en} is unknown: it may or may not have happened. Please check before you ask again.`,
        `${ja}は結果が不明です。行われたかどうか分からないため、もう一度依頼する前に確認してください。`,
      );
    case 'cancelled':
      return say(
        language,
        `${subjectEn} was cancelled, so it did not happen.`,
        `${ja}は取り消されたため、行っていません。`,
      );
    case 'refused':
      return say(
        language,
        `${subjectEn} was refused: ${sentence(outcome.why)}`,
        `${ja}はできませんでした：${reasonJa(outcome.why, reasonsJa)}`,
      );
    case 'failed': {
      const why =
        outcome.why === ''
          ? say(language, 'no reason was given.', '理由は示されませんでした。')
          : outcome.why;
      return say(
        language,
        `${subjectEn} failed: ${sentence(why)}`,
        `${ja}は失敗しました：${reasonJa(why, reasonsJa)}`,
      );
    }
    case 'silent':
      return say(
        language,
        `I got no result for ${en}, so I cannot say whether it happened.`,
        `${ja}の結果が届いていないため、行われたかどうか分かりません。`,
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
