import { describe, expect, test } from 'vitest';
import { ask } from './talk.ts';

const cities: [text: string, ...cities: string[]][] = [
  ['What is the weather in Tokyo?', 'Tokyo'],
  ["what's the weather like in London today?", 'London'],
  ['weather in Paris', 'Paris'],
  ['Tokyo weather', 'Tokyo'],
  ['weather Berlin', 'Berlin'],
  ["How's the weather in New York right now?", 'New York'],
  ['Tell me the weather in san francisco', 'San Francisco'],
  ['Could you please check the weather for Osaka?', 'Osaka'],
  ['Is it raining in Seattle?', 'Seattle'],
  ['Will it rain tomorrow in Kyoto?', 'Kyoto'],
  ['How cold is it in Oslo?', 'Oslo'],
  ['Do I need an umbrella in Dublin today?', 'Dublin'],
  ['what is the temperature in Springfield', 'Springfield'],
  ["What is Tokyo's weather like?", 'Tokyo'],
  ['I want to know the weather in Madrid', 'Madrid'],
  ['Hello! What is the weather in Tokyo?', 'Tokyo'],
  ['It is a long day. What is the weather in Tokyo?', 'Tokyo'],
  ['what is the weather in the Netherlands', 'Netherlands'],
  ['Weather for tomorrow in Rome', 'Rome'],
  ['What is the weather in Tokyo and London?', 'Tokyo', 'London'],
  ['What is the forecast for Paris, France?', 'Paris, France'],
  ['東京の天気を教えて', 'Tokyo'],
  ['東京の天気は？', 'Tokyo'],
  ['今日の大阪の天気はどうですか', 'Osaka'],
  ['大阪の今日の天気を教えてください', 'Osaka'],
  ['東京都の天気', 'Tokyo'],
  ['京都の天気を知りたいです', 'Kyoto'],
  ['札幌は寒い？', 'Sapporo'],
  ['ロンドンは雨が降っていますか', 'London'],
  ['ニューヨークの気温は何度ですか', 'New York'],
  ['明日の福岡の天気は', 'Fukuoka'],
  ['横浜で傘は必要ですか？', 'Yokohama'],
  ['すみません、パリの天気を調べてもらえますか？', 'Paris'],
  ['バンドンの天気は？', 'バンドン'],
  ['箱根の天気予報を教えて', '箱根'],
  ['東京と大阪の天気を教えて', 'Tokyo', 'Osaka'],
];

const tracks: [text: string, track: number][] = [
  ['change to track 1', 1],
  ['Play track 2', 2],
  ['switch to track two please', 2],
  ['Change the music', 2],
  ['change the background music to track 1', 1],
  ['set the bgm to 2', 2],
  ['put on the second song', 2],
  ['next track', 2],
  ['Could you play some other music?', 2],
  ['play something else', 2],
  ['track 1', 1],
  ['I want to hear some music', 2],
  ['switch the song', 2],
  ['switch tracks', 2],
  ['I want track 2', 2],
  ['トラック1に変更して', 1],
  ['トラック2にして', 2],
  ['トラック２を再生してください', 2],
  ['曲を変えて', 2],
  ['音楽を変えてください', 2],
  ['BGMを切り替えて', 2],
  ['BGMをトラック1に変更してください', 1],
  ['2番の曲をかけて', 2],
  ['次の曲', 2],
  ['別の曲にして', 2],
  ['背景音楽をトラック2に変えてもらえますか', 2],
  ['他の曲をかけてほしいです', 2],
];

const places: string[] = [
  'Where am I?',
  'where am i right now',
  "What's my location?",
  'What is my current location?',
  'tell me my location',
  'Please get my location',
  'Find my current position',
  'locate me',
  'Can you tell me where I am?',
  'Which city am I in?',
  'What are my coordinates?',
  'Do you know where I am?',
  '現在地を教えて',
  '現在地を教えてください',
  '現在地は？',
  'ここはどこですか',
  '今どこ？',
  '私はどこにいますか？',
  '私は今どこにいるの？',
  '位置情報を取得して',
  '現在位置を調べてください',
  '私の居場所を教えて',
  '今いる場所はどこですか',
  'すみません、現在地を確認してもらえますか',
];

const noTool: string[] = [
  'I like the weather in Tokyo today',
  'The weather in Tokyo is nice',
  'what is weather?',
  'How does a weather forecast work?',
  'nice weather',
  "don't tell me the weather in Tokyo",
  'How is the weather in Tokyo different from London?',
  'Tokyo is a city',
  'I was in London',
  'London',
  'and in London?',
  '天気予報の仕組みは？',
  '今日はいい天気ですね',
  'いい天気',
  '東京の天気が好きです',
  '東京は寒い',
  '昨日の東京の天気は？',
  '東京に行きたい',
  '東京の人口は？',
  'ロンドンは？',
  'I like track 2',
  'What is track 2?',
  "Don't change the music",
  'stop the music',
  'turn down the volume',
  'play track 3',
  'Do you like music?',
  'I changed the music yesterday',
  'What music is this?',
  '音楽が好きです',
  '音楽を変えないで',
  '音楽を止めて',
  'トラック3にして',
  'トラックとは何ですか',
  'この曲は何？',
  'Where is Tokyo?',
  'Where are you?',
  "don't get my location",
  'What is a location?',
  'Where was I?',
  'where do you live',
  '東京はどこですか',
  'あなたはどこにいますか',
  '位置情報とは何ですか',
  '現在地を取得しないで',
  '駅はどこですか',
];

const spoken: [intent: string, pattern: RegExp, texts: string[]][] = [
  [
    'the music button in English',
    /To stop it or change its volume, press the music button at the top of the page/,
    [
      'stop the music',
      'Stop the music',
      'turn off the music',
      'Please stop the music.',
      'make the music quieter',
    ],
  ],
  [
    'the music button in Japanese',
    /ページ上部の音楽ボタン.*を押してください/,
    ['音楽を止めて', '音楽を止めてください', 'BGMを止めて', '音楽の音量を下げて'],
  ],
  [
    'the balance in English',
    /wallet starts with \$1,000/,
    [
      "What's my balance?",
      'balance',
      'How much money do I have?',
      'how much do I have left?',
      'Show me my balance',
      'Check my wallet',
      'What is my current balance',
      'tell me the wallet balance',
      'How much money is left?',
      'How much is left in my wallet?',
      'Can you check my account balance?',
    ],
  ],
  [
    'the balance in Japanese',
    /1,000ドルから始まります/,
    [
      '残高は？',
      '残高を教えて',
      '残高はいくらですか',
      '今の残高を教えてください',
      'ウォレットの残高は？',
      '残高を確認して',
      'お金はあといくら残っていますか',
      'あといくら使えますか？',
      '財布にはいくら入っていますか',
      '残金を見せて',
      '所持金はいくら？',
    ],
  ],
  [
    'help in English',
    /^I can help with:/,
    [
      'help',
      'Help me',
      'What can you do?',
      'what can I ask you?',
      'How do I use this?',
      'show me your commands',
      'I need help',
      'Can you help me?',
      'what can you do for me',
      'menu',
      'How does this work?',
      'Hello, what can you do?',
      'Hi! What can you do for me?',
      'ok, help me please',
    ],
  ],
  [
    'help in Japanese',
    /^できることはこちらです/,
    [
      'ヘルプ',
      '助けて',
      '何ができますか？',
      '何ができるの？',
      '使い方を教えて',
      'できることは？',
      'どう使うの？',
      'メニューを見せて',
      '何をしてくれますか',
      '何を聞けばいいですか',
      '困っています',
      'こんにちは、何ができますか？',
      'すみません、使い方を教えてください',
    ],
  ],
  [
    'a greeting in English',
    /^Hello!/,
    [
      'hi',
      'Hello',
      'hey!',
      'Hi there',
      'Good morning',
      'good evening!',
      'Hello there!',
      'howdy',
      'greetings',
      'Nice to meet you',
      "what's up?",
    ],
  ],
  [
    'a greeting in Japanese',
    /こんにちは！送金/,
    [
      'こんにちは',
      'こんばんは！',
      'おはよう',
      'おはようございます。',
      'やあ',
      'はじめまして',
      'もしもし',
      'どうも',
      'よろしくお願いします',
      'よろしくね',
      '久しぶりです',
    ],
  ],
  [
    'thanks in English',
    /^You are welcome/,
    [
      'thanks',
      'Thank you!',
      'thank you very much',
      'Thanks a lot',
      'thx',
      'cheers',
      'many thanks',
      'Thanks for your help',
      'great, thanks',
      'Thank you so much!',
      'ok, thanks!',
      'good job',
    ],
  ],
  [
    'thanks in Japanese',
    /^どういたしまして/,
    [
      'ありがとう',
      'ありがとうございます',
      'ありがとうございました！',
      'どうもありがとう',
      'サンキュー',
      '助かりました',
      '感謝します',
      'ありがとね',
      'お疲れ様です',
      '助かる',
      'さすがです',
    ],
  ],
  [
    'what it is, in English',
    /a set of hand-written rules, not an LLM/,
    [
      'Who are you?',
      'what are you',
      'Are you an AI?',
      'are you an LLM?',
      'Are you human?',
      'Which model are you?',
      "What's your name?",
      'introduce yourself',
      'Are you ChatGPT?',
      'is this a real model',
      'Are you a bot?',
    ],
  ],
  [
    'what it is, in Japanese',
    /LLMではなく、手書きのルール/,
    [
      'あなたは誰ですか',
      'あなたは誰？',
      '何者ですか？',
      'あなたはAIですか？',
      'AIなの？',
      'LLMですか',
      'あなたの名前は？',
      '自己紹介してください',
      'ロボットですか？',
      'どのモデルを使っていますか',
      'あなたは人間ですか',
    ],
  ],
  [
    'no picture in English',
    /I see no picture/,
    [
      'What is in this picture?',
      'describe the image',
      'What do you see in the photo?',
      'what colours does this image have',
      'How big is this picture?',
      'Can you describe this photo?',
      'what is the format of this image?',
      'Tell me about this picture',
      'Look at this photo',
      'Analyse the screenshot',
      'who is in the picture?',
    ],
  ],
  [
    'no picture in Japanese',
    /まだ画像がありません/,
    [
      'この画像には何が写っていますか',
      'この写真は何？',
      '画像を説明して',
      '写真に何が見えますか',
      'この画像の色は？',
      '画像の大きさを教えて',
      'この絵は何ですか',
      'スクリーンショットを見て',
      '写真を分析してください',
      'この画像のサイズは？',
      'どんな画像ですか',
    ],
  ],
  [
    'a story in English',
    /^# The two lighthouses\n/,
    [
      'tell me a story',
      'Tell me a long story',
      'write a story please',
      'Can you tell me a story?',
      'story',
      'a long answer',
      'give me a long text',
      'tell us another tale',
      'Please write me an essay',
      'read me a bedtime story',
    ],
  ],
  [
    'a story in Japanese',
    /^# 二つの灯台\n/,
    [
      '長い話をして',
      '話をして',
      '物語を聞かせて',
      'お話をしてください',
      '長い物語を書いて',
      '昔話をして',
      'ストーリーを話して',
      '長文を書いて',
      '面白い話をして',
      '何か話をして',
    ],
  ],
  [
    'Markdown',
    /\n\| `process_payment` \|/,
    [
      'show markdown',
      'Show me some Markdown',
      'markdown',
      'markdown demo',
      'test formatting',
      'マークダウンを見せて',
      'マークダウンのテスト',
      'Markdownを表示して',
      'マークダウン',
      'マークダウンの例を見せてください',
    ],
  ],
  [
    'goodbye',
    /^Goodbye|^さようなら/,
    [
      'bye',
      'Goodbye!',
      'See you later',
      'thanks, bye',
      'ありがとう、さようなら',
      'good night',
      "that's all",
      'さようなら',
      'バイバイ',
      'またね',
      'おやすみなさい',
      '以上です',
    ],
  ],
  [
    'something unknown in English',
    /^I did not understand that/,
    [
      'What is the meaning of life?',
      'asdf',
      'Book me a flight to Rome',
      'Translate this',
      '42',
      'What time is it?',
      'I am tired',
      'sing',
      'Who won the match?',
      '🙂🙃',
    ],
  ],
  [
    'something unknown in Japanese',
    /^すみません、理解できませんでした/,
    [
      '人生の意味は？',
      'あいうえお',
      '飛行機を予約して',
      '翻訳して',
      '何時ですか',
      '疲れました',
      '歌って',
      '明日の予定は？',
      'お腹が空いた',
      '株価は？',
    ],
  ],
];

describe('requests are understood in many wordings', () => {
  test.each(cities)('`%s` looks up the weather', async (text, ...names) => {
    expect((await ask(text)).calls).toEqual(names.map((location) => ['get_weather', { location }]));
  });

  test.each(tracks)('`%s` changes the music to track %i', async (text, track) => {
    expect((await ask(text)).calls).toEqual([['change_bgm', { track }]]);
  });

  test.each(places)('`%s` reads the location', async (text) => {
    expect((await ask(text)).calls).toEqual([['get_location', {}]]);
  });

  test.each(noTool)('`%s` calls no tool and says something', async (text) => {
    const { calls, text: words } = await ask(text);
    expect({ calls, isSilent: words === '' }).toEqual({ calls: [], isSilent: false });
  });

  for (const [intent, pattern, texts] of spoken) {
    test.each(texts)(`\`%s\` is about ${intent}`, async (text) => {
      const { calls, text: words } = await ask(text);
      expect(calls).toEqual([]);
      expect(words).toMatch(pattern);
    });
  }

  test.each([
    ['count to 10', '1 2 3 4 5 6 7 8 9 10'],
    ['Please count from 1 to 3', '1 2 3'],
    ['5まで数えてください', '1 2 3 4 5'],
    ['1から4まで数えて', '1 2 3 4'],
  ])('`%s` counts', async (text, words) => {
    expect((await ask(text)).text).toBe(words);
  });

  test('counting ends at 500', async () => {
    const { text } = await ask('count to 100000');
    expect(text.split('\n\n')).toEqual([
      Array.from({ length: 500 }, (_, index) => index + 1).join(' '),
      'I stop at 500.',
    ]);
  });

  test.each([
    [
      'What is the weather in Tokyo?',
      'get_weather',
      'I cannot look up the weather here: this agent has no weather tool.',
    ],
    [
      '東京の天気を教えて',
      'get_weather',
      'ここでは天気を調べられません。このエージェントには天気の機能がありません。',
    ],
    ['send $50 to Bob', 'process_payment', 'I cannot send money here: this agent has no payment tool.'],
    ['play track 2', 'change_bgm', 'I cannot change the music here: this agent has no music tool.'],
    ['where am I?', 'get_location', 'I cannot find out where you are: this agent has no location tool.'],
  ])('`%s` without the tool %s says so', async (text, missing, words) => {
    const tools = ['get_weather', 'process_payment', 'change_bgm', 'get_location'].filter(
      (tool) => tool !== missing,
    );
    const { calls, text: spokenText } = await ask(text, tools);
    expect({ calls, spokenText }).toEqual({ calls: [], spokenText: words });
  });

  test('every thought is in the language of the person', async () => {
    expect((await ask('What is the weather in Tokyo?')).thought).toBe(
      'The person asks about the weather in Tokyo.',
    );
    expect((await ask('東京の天気を教えて')).thought).toBe('東京の天気を調べます。');
    expect((await ask('花子さんに50ドル送金して')).thought).toBe(
      '花子さんに50ドルを送金する依頼だと理解しました。',
    );
  });
});
