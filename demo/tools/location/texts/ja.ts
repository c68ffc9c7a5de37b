import type * as en from './en.ts';

/** What the page says about the user's location. */
export const page: typeof en.page = {
  title: '現在地',
  suggestions: [{ title: '現在地', text: 'ここはどこですか？' }],
  asked: '現在地をアシスタントに共有します。',
  done: '現在地をアシスタントに共有しました。',
  accuracy: (metres) => `誤差 ${metres} m 以内`,
  compass: {
    north: (degrees) => `北緯 ${degrees}°`,
    south: (degrees) => `南緯 ${degrees}°`,
    east: (degrees) => `東経 ${degrees}°`,
    west: (degrees) => `西経 ${degrees}°`,
  },
};

/** Errors of the tool, each with its Japanese text. */
export const reasons: readonly [RegExp, string][] = [
  [/^The user did not allow/, 'ブラウザーでの位置情報の共有が許可されませんでした。'],
  [/^The browser cannot find/, '現在、ブラウザーが位置情報を取得できません。'],
  [/^The browser took too long/, 'ブラウザーが時間内に位置情報を取得できませんでした。'],
  [/^This browser has no way/, 'このブラウザーは位置情報に対応していません。'],
  [/^The request was cancelled/, '取り消されました。'],
];

/** What the embedded model says about the location. */
export const model: typeof en.model = {
  does: '現在地の確認',
  example: '現在地（承認が必要）：「現在地を教えて」',
  noTool: {
    thought: '現在地の質問ですが、ここでは分かりません。',
    text: 'ここでは現在地を調べられません。このエージェントには位置情報の機能がありません。',
  },
  asked: '現在地を調べる依頼だと理解しました。',
  subject: '現在地の取得',
  within: (metres) => `、誤差は約${metres}m`,
  exact: (latitude, longitude, within) => `緯度${latitude}、経度${longitude}${within}`,
  place: (names) => names.toReversed().join('、'),
  near: (town) => `${town}の近く`,
  youAre: (exact, place) => `現在地は${place === null ? exact : `${place}（${exact}）`}です。`,
};
