const en = {
  title: 'Location',
  suggestions: [{ title: 'Location', text: 'Where am I?' }],
  asked: 'Share your current position with the assistant.',
  done: 'Shared your current position with the assistant.',
  failures: {
    denied: 'You did not allow the browser to share your location.',
    unavailable: 'The browser cannot find the location right now.',
    slow: 'The browser took too long to find the location.',
    unsupported: 'This browser has no way to find the location.',
  },
  accuracy: (metres: string) => `within ${metres} m`,
};

const ja: typeof en = {
  title: '現在地',
  suggestions: [{ title: '現在地', text: 'ここはどこですか？' }],
  asked: 'あなたの現在地をアシスタントに伝えます。',
  done: 'あなたの現在地をアシスタントに伝えました。',
  failures: {
    denied: 'ブラウザーによる位置情報の共有が許可されていません。',
    unavailable: '今はブラウザーが現在地を見つけられません。',
    slow: 'ブラウザーが時間内に現在地を見つけられませんでした。',
    unsupported: 'このブラウザーには現在地を調べる方法がありません。',
  },
  accuracy: (metres) => `誤差 ${metres} m 以内`,
};

/** What the page says about the person's location. */
export const WORDS = { en, ja };
