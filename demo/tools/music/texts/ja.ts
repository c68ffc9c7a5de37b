import type * as en from './en.ts';

/** What the page says about the music. */
export const page: typeof en.page = {
  title: '音楽',
  suggestions: [{ title: '音楽', text: 'トラック2を流して' }],
  asked: '背景音楽をトラック {track} に変更します。',
  done: '背景音楽をトラック {track} に変更しました。',
  switched: (track) => `変更した曲：${track}`,
  volume: '音量',
  tracks: { 1: 'ゆっくりした朝', 2: '夜の路面電車' },
  track: (number) => `トラック ${number}`,
  blocked: 'ブラウザーが音をブロックしています。再生ボタンを押してください。',
};

/** Errors of the tool, each with its Japanese text. */
export const reasons: readonly [RegExp, string][] = [
  [/^There are two tracks/, 'トラックは1と2の二つです。'],
  [/allows no sound/, 'ページを操作するまで、ブラウザーは音を出しません。'],
];

/** What the embedded model says about the music. */
export const model: typeof en.model = {
  does: '音楽の変更',
  example: '音楽：「トラック2に変更して」',
  noTool: {
    thought: '音楽の依頼ですが、ここでは変更できません。',
    text: 'ここでは音楽を変更できません。このエージェントには音楽の機能がありません。',
  },
  unable: {
    thought: '音楽についての、できない依頼です。',
    text: '背景音楽はトラック1とトラック2の切り替えだけができます。止めたり音量を変えたりするには、ページ上部の音楽ボタン（音符、再生中は動く棒）を押してください。',
  },
  wanted: (track) => `背景音楽をトラック${track}に変更します。`,
  subject: (track) => `トラック${track}への変更`,
  changed: (track) => `背景音楽をトラック${track}に変更しました。`,
};
