import { type Translations, translated } from './translate.ts';

/**
 * Patterns for English texts of the server that users see, each with the Japanese text. `$1` is the first group of
 * the pattern.
 */
const TEXTS: Translations = [
  [
    /^The model is not configured: the model provider does not accept the key/,
    'モデルが設定されていません。モデルの提供元がこのサーバーのキーを受け付けません（401）。',
  ],
  [/^The model provider does not let the key/, 'このサーバーのキーではこのモデルを使えません（403）。'],
  [/^The model provider does not know the model/, 'モデルの提供元にこのモデルがありません（404）。'],
  [
    /^The model is rate limited/,
    'モデルへのリクエストが多すぎます（429）。少し待ってからもう一度お試しください。',
  ],
  [
    /^The model provider has a fault or is overloaded \((\d+)\)/,
    'モデルの提供元で問題が起きているか、混み合っています（$1）。少し待ってからもう一度お試しください。',
  ],
  [/^The model answered with error (\d+)/, 'モデルがエラー $1 を返しました。'],
  [/^The quota of this server/, 'モデルの提供元での利用枠を使い切りました。'],
  [
    /^The model provider cannot be reached/,
    'モデルの提供元に接続できません。少し待ってからもう一度お試しください。',
  ],
  [/^The model did not answer in time/, 'モデルが時間内に回答しませんでした。もう一度お試しください。'],
  [/^The answer of the model broke off/, 'モデルの回答が途中で切れました。もう一度お試しください。'],
  [
    /^The model provider does not accept the settings with which/,
    'モデルの提供元がこのサーバーのライブの設定を受け付けません。',
  ],
  [
    /^The model sent something that cannot be read/,
    'モデルから読み取れない内容が届きました。もう一度お試しください。',
  ],
  [
    /^The model is not configured: this server has no credentials/,
    'モデルが設定されていません。このサーバーにはモデルの提供元の認証情報がありません。',
  ],
  [
    /^The model is not configured: this server has no key/,
    'モデルが設定されていません。このサーバーにはモデルの提供元のキーがありません。',
  ],
  [
    /^The model gave no answer/,
    'モデルから回答がありませんでした。内容がブロックされた可能性があります。言い方を変えてお試しください。',
  ],
  [/^The model refused to answer/, 'モデルが回答を拒否しました。言い方を変えてお試しください。'],
  [/^The model stopped: /, 'モデルが途中で止まりました。'],
  [/^The agent failed to answer/, '回答できませんでした。もう一度お試しください。'],
  [/^Timeout waiting for (\S+) result$/, 'ブラウザーから $1 の結果が時間内に届きませんでした。'],
  [/^(\S+) did not finish in time/, '$1 が時間内に終わりませんでした。実行されたかどうか確認できません。'],
  [
    /^(\S+) ran, but another call had changed the same data/,
    '別の操作が同じデータを変えたため、$1 の結果は取り消されました。',
  ],
  [/^The person who approved is no longer signed in$/, '承認したユーザーはすでにログアウトしています。'],
  [/^Cancelled by the agent$/, 'アシスタントが取りやめました。'],
  [/^The arguments of the call could not be read$/, '呼び出しの内容を読み取れませんでした。'],
  [
    /^The (?:call|approval request) could not be stored/,
    'サーバーに保存できなかったため、実行されませんでした。',
  ],
  [/^The call was not completed$/, '完了しませんでした。'],
  [
    /^The outcome is unknown/,
    '実行中にサーバーが停止しました。完了したかどうか確認できません。再実行はしていません。',
  ],
  [/^(\S+) ran, but its output cannot be written as JSON/, '$1 は実行されましたが、結果を読み取れません。'],
  [/^The agent no longer has a tool named/, 'このツールは使えなくなりました。'],
  [/^Approval request timed out$/, '時間内に承認されませんでした。'],
  [/^The question was not answered in time$/, '時間内に回答がありませんでした。'],
  [/^Superseded by a newer message$/, '新しいメッセージが送信されたため、取り消されました。'],
  [/^Interrupted by the user$/, 'あなたが停止しました。'],
];

/** Returns the Japanese text for an English text of the server, or null for one that is not in the list. */
export function inJapanese(sentence: string): string | null {
  return translated(sentence, TEXTS) ?? null;
}
