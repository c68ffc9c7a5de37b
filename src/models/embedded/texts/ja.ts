import type { EmbeddedTexts } from './en.ts';

/** The Japanese texts of the embedded model. */
export const ja: EmbeddedTexts = {
  abilities: [
    '画像：送信すると、形式・大きさと、復号できれば主な色をお伝えします',
    'ファイル：送信すると、種類と大きさ、テキストなら書き出しをお伝えします',
    'この会話のこと：「さっき何を聞いた？」「私の名前は？」',
  ],
  canHelp: 'できることはこちらです。',
  cannotContinue: 'その続きは書けません。もう一度質問してください。',

  unknown: {
    thought: '当てはまるルールがありません。',
    mark: '理解できませんでした',
    tooLong: (characters) =>
      `メッセージが長すぎて（${characters}文字超）、ルールでは理解できません。何も行っていません。できることはこちらです。`,
    first: (mark) => `すみません、${mark}。私はLLMではなく、ルールの集まりです。できることはこちらです。`,
    next: (mark, example) =>
      `${mark}。できることの一つ：${example}。すべて見るには「何ができますか？」と聞いてください。`,
  },

  results: {
    anythingElse: 'ほかに何かありますか？',
    none: 'お伝えする結果はありません。',
    subject: (tool) => `${tool}の呼び出し`,
    done: (tool) => `${tool}が完了しました。`,
    noReason: '理由は示されませんでした。',
    pending: (subject) => `${subject}は、あなたの回答を待っています。`,
    // The recorded fixtures contain this sentence: do not change it.
    denied: (subject, reason) =>
      `${subject}は承認されなかったため${reason === undefined ? '' : `（理由：${reason}）`}、行っていません。`,
    approvalTimeout: (subject) => `${subject}は承認の期限が切れたため、行っていません。`,
    resultTimeout: (subject) => `${subject}は、時間内に結果が届きませんでした。`,
    unknown: (subject) =>
      `${subject}は結果が不明です。行われたかどうか確認できないため、もう一度依頼する前に確認してください。`,
    cancelled: (subject) => `${subject}は取り消されたため、行っていません。`,
    refused: (subject, why) => `${subject}はできませんでした：${why}`,
    failed: (subject, why) => `${subject}は失敗しました：${why}`,
    silent: (subject) => `${subject}の結果が届いていないため、行われたかどうか分かりません。`,
    reason: (why) => {
      const isJapanese = /[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(why);
      if (!isJapanese) return `「${why}」`;
      return /[。！？]$/.test(why) ? why : `${why}。`;
    },
  },

  approval: {
    lost: {
      thought: '言葉での承認ですが、承認はカードで行うものでした。',
      text: 'メッセージでは承認できず、カードは取り消されました。もう一度依頼して、カードの「承認」を押してください。',
    },
    open: {
      thought: '承認待ちの件についての回答ですが、カードでの回答が必要です。',
      text: 'メッセージでは回答できません。カードの「承認」か「拒否」を押してください。',
    },
  },

  past: {
    thought: '以前の発言についての質問です。',
    first: 'これが最初のメッセージです。',
    before: (text) => `直前のメッセージは「${text}」です。`,
  },

  again: {
    nothing: {
      thought: 'やり直しの依頼ですが、前の操作がありません。',
      text: 'やり直す操作がまだありません。',
    },
    thought: '同じ操作をもう一度行う依頼です。',
  },

  name: {
    told: (name) => ({
      thought: `お名前は${name}さんだと理解しました。`,
      text: `${name}さん、よろしくお願いします。`,
    }),
    thought: '自分の名前についての質問です。',
    unknown: 'まだお名前を伺っていません。',
    known: (name) => `${name}さんです。`,
  },

  help: { thought: 'できることについての質問です。' },

  identity: {
    thought: '私が何者かという質問です。',
    text: '私はDuologueの組み込みモデルです。LLMではなく、手書きのルールの集まりです。オフラインで動き、キーは不要ですが、ルールにあることしか分かりません。本物のモデルと話すには、`GOOGLE_API_KEY`などのキーを設定してサーバーを起動してください。',
  },

  picture: {
    thought: '画像についての質問です。',
    none: 'この会話にはまだ画像がありません。PNG・JPEG・WebPの画像を送信すると、形式・大きさ・主な色をお伝えします。',
    limits: 'ルールの集まりなので、何が写っているかまでは分かりません。',
    unreadable: 'この画像は読み取れませんでした。PNG・JPEG・WebP・GIFのどれでもないようです。',
    facts: (format, size) => `${size}ピクセルの${format}画像です。`,
    noColours: (format) => `色は計算できませんでした（この${format}データは復号できません）。`,
    colour: (name, hex, share) => `${name}（${hex}、${share}）`,
    transparent: (share) => `${share}は透明です。`,
    colours: (colours) => `主な色は${colours}です。`,
    names: {
      black: '黒',
      white: '白',
      grey: '灰色',
      red: '赤',
      orange: 'オレンジ',
      brown: '茶色',
      yellow: '黄色',
      green: '緑',
      cyan: '水色',
      blue: '青',
      purple: '紫',
      pink: 'ピンク',
    },
  },

  file: {
    thought: 'ファイルが送られてきました。',
    unnamed: '名前のないファイル',
    facts: (name, type, bytes) => `${name}：種類は${type}、${bytes}バイトのファイルです。`,
    lines: (count, first) => `${count}行のテキストで、1行目は「${first}」です。`,
    limits: 'ファイルを受け取りました。ルールの集まりなので、内容の意味までは分かりません。',
  },

  talk: {
    greeting: {
      thought: '挨拶だと理解しました。',
      reply: (name, abilities) =>
        `${name === '' ? '' : `${name}さん、`}こんにちは！${abilities === '' ? '' : `${abilities}などができます。`}何をしましょうか？`,
    },
    howAreYou: {
      thought: '調子を聞かれています。',
      reply: () => 'ルールの集まりなので、いつもと同じです。ありがとうございます。何をしましょうか？',
    },
    thanks: { thought: 'お礼だと理解しました。', reply: () => 'どういたしまして！' },
    goodbye: { thought: '別れの挨拶だと理解しました。', reply: () => 'さようなら。またどうぞ！' },
    shortWord: {
      thought: '短い言葉ですが、こちらからの質問はありません。',
      reply: () => 'わかりました。お尋ねしていることはありません。次は何をしましょうか？',
    },
  },
};
