/** What the server says in English, and how this page says it in Japanese. `$1` is what varies. */
const SAID: readonly [RegExp, string][] = [
  [
    /^The model is not configured: the model provider does not accept the key/,
    'モデルが設定されていません。モデルの提供元がこのサーバーの鍵を受け付けません（401）。',
  ],
  [/^The model provider does not let the key/, 'このサーバーの鍵ではこのモデルを使えません（403）。'],
  [/^The model provider does not know the model/, 'モデルの提供元がこのモデルを知りません（404）。'],
  [/^The model is rate limited/, 'モデルへの要求が多すぎます（429）。少し待ってからもう一度お試しください。'],
  [
    /^The model provider has a fault or too much to do \((\d+)\)/,
    'モデルの提供元で問題が起きたか、混み合っています（$1）。少し待ってからもう一度お試しください。',
  ],
  [/^The model answered with error (\d+)/, 'モデルがエラー $1 を返しました。'],
  [/^The quota of this server/, 'モデルの提供元での利用枠を使い切りました。'],
  [
    /^The model provider cannot be reached/,
    'モデルの提供元に届きません。少し待ってからもう一度お試しください。',
  ],
  [/^The model did not answer in time/, 'モデルが時間内に答えませんでした。もう一度お試しください。'],
  [/^The answer of the model broke off/, 'モデルの回答が途中で切れました。もう一度お試しください。'],
  [
    /^The model provider does not take the live settings/,
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
    'モデルが設定されていません。このサーバーにはモデルの提供元の鍵がありません。',
  ],
  [
    /^The model gave no answer/,
    'モデルが何も答えませんでした。内容が遮断された可能性があります。言い方を変えてお試しください。',
  ],
  [/^The model refused to answer/, 'モデルが回答を断りました。言い方を変えてお試しください。'],
  [/^The model stopped: /, 'モデルが途中で止まりました。'],
  [/^The agent failed to answer/, '答えられませんでした。もう一度お試しください。'],
  [/^Timeout waiting for (\S+) result$/, 'ブラウザーから $1 の結果が時間内に届きませんでした。'],
  [/^(\S+) did not finish in time/, '$1 が時間内に終わりませんでした。行われたかどうか分かりません。'],
  [
    /^(\S+) ran, but another call had changed the same data/,
    '別の操作が同じデータを変えたため、$1 の結果は取り消されました。',
  ],
  [/^The person who approved is no longer signed in$/, '承認した人がすでにサインアウトしています。'],
  [/^Cancelled by the agent$/, 'アシスタントが取りやめました。'],
  [/^The arguments of the call could not be read$/, '呼び出しの内容を読み取れませんでした。'],
  [/^The call was not completed$/, '最後まで行われませんでした。'],
  [/^Superseded by a newer message$/, '新しいメッセージに置き換えられました。'],
  [/^Interrupted by the user$/, 'あなたが止めました。'],
];

/** A sentence of the server in Japanese; null for one that this page does not know. */
export function saidInJapanese(sentence: string): string | null {
  for (const [pattern, text] of SAID) {
    const found = pattern.exec(sentence);
    if (found) return text.replace('$1', found[1] ?? '');
  }
  return null;
}
