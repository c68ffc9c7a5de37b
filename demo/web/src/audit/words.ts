import { type Language, useLanguage } from '../i18n/language.tsx';
import type { AuditLine } from './audit-line.ts';

/** Whether a step is the reader's own: a server without accounts has one user, with this name. */
function isReader(user: string): boolean {
  return user === 'live_user';
}

const en = {
  intro: 'Every step of every approval in this conversation, as the server wrote it down.',
  none: 'Nothing in this conversation has asked for your approval yet.',
  failed: 'The log could not be read.',
  refresh: 'Refresh',
  jsonl: 'Save as JSON lines',
  csv: 'Save as CSV',
  newest: 'Only the newest steps are shown and saved.',
  older: 'Show older steps',
  kind: {
    issued: 'Asked',
    approved: 'Approved',
    denied: 'Denied',
    expired: 'Expired',
    consumed: 'Used, once',
    refused: 'Answer refused',
  } as Record<AuditLine['kind'], string>,
  steps: 'Steps',
  /** Whom a step concerns: the one who was asked, or the one who answered. */
  who: (kind: AuditLine['kind'], user: string) =>
    kind === 'expired' || kind === 'consumed'
      ? ''
      : `${kind === 'issued' ? '' : 'by '}${isReader(user) ? 'you' : user}`,
  args: 'Arguments',
  noArgs: 'No arguments',
  ids: 'Identifiers',
  fields: { approval: 'Approval', call: 'Call', hash: 'Hash of the arguments' },
  unknown: 'Unknown approval',
  count: (count: string) => `${count} approvals`,
};

const TABLES: Record<Language, typeof en> = {
  en,
  ja: {
    intro: 'この会話での承認のすべての段階を、サーバーの記録どおりに示します。',
    none: 'この会話では、まだ承認を求められていません。',
    failed: '記録を読み取れませんでした。',
    refresh: '更新',
    jsonl: 'JSON Lines で保存',
    csv: 'CSV で保存',
    newest: '表示と保存は新しい記録だけです。',
    older: '以前の記録を表示',
    kind: {
      issued: '確認',
      approved: '承認',
      denied: '拒否',
      expired: '期限切れ',
      consumed: '実行（一度だけ）',
      refused: '無効な返事',
    },
    steps: '経過',
    who: (kind, user) => (kind === 'expired' || kind === 'consumed' ? '' : isReader(user) ? 'あなた' : user),
    args: '引数',
    noArgs: '引数なし',
    ids: '識別子',
    fields: { approval: '承認', call: '呼び出し', hash: '引数のハッシュ' },
    unknown: '不明な承認',
    count: (count) => `承認 ${count} 件`,
  },
};

/** The sentences of the approval log, in the language of the page. */
export function useWords(): typeof en {
  return TABLES[useLanguage().language];
}
