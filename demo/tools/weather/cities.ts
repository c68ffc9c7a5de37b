const CITIES: readonly (readonly [english: string, japanese: string])[] = [
  ['Tokyo', '東京'],
  ['Osaka', '大阪'],
  ['Kyoto', '京都'],
  ['Sapporo', '札幌'],
  ['Fukuoka', '福岡'],
  ['Nagoya', '名古屋'],
  ['Yokohama', '横浜'],
  ['Kobe', '神戸'],
  ['Sendai', '仙台'],
  ['Hiroshima', '広島'],
  ['Naha', '那覇'],
  ['Okinawa', '沖縄'],
  ['Hokkaido', '北海道'],
  ['Nara', '奈良'],
  ['Kanazawa', '金沢'],
  ['Nagasaki', '長崎'],
  ['Kumamoto', '熊本'],
  ['Kagoshima', '鹿児島'],
  ['Niigata', '新潟'],
  ['Nagano', '長野'],
  ['Shizuoka', '静岡'],
  ['Okayama', '岡山'],
  ['Matsuyama', '松山'],
  ['Kawasaki', '川崎'],
  ['Saitama', 'さいたま'],
  ['Chiba', '千葉'],
  ['Hakodate', '函館'],
  ['London', 'ロンドン'],
  ['Paris', 'パリ'],
  ['Berlin', 'ベルリン'],
  ['Munich', 'ミュンヘン'],
  ['Rome', 'ローマ'],
  ['Milan', 'ミラノ'],
  ['Madrid', 'マドリード'],
  ['Barcelona', 'バルセロナ'],
  ['Lisbon', 'リスボン'],
  ['Amsterdam', 'アムステルダム'],
  ['Brussels', 'ブリュッセル'],
  ['Vienna', 'ウィーン'],
  ['Zurich', 'チューリッヒ'],
  ['Prague', 'プラハ'],
  ['Stockholm', 'ストックホルム'],
  ['Oslo', 'オスロ'],
  ['Copenhagen', 'コペンハーゲン'],
  ['Helsinki', 'ヘルシンキ'],
  ['Warsaw', 'ワルシャワ'],
  ['Dublin', 'ダブリン'],
  ['Moscow', 'モスクワ'],
  ['Istanbul', 'イスタンブール'],
  ['Athens', 'アテネ'],
  ['New York', 'ニューヨーク'],
  ['San Francisco', 'サンフランシスコ'],
  ['Los Angeles', 'ロサンゼルス'],
  ['Seattle', 'シアトル'],
  ['Chicago', 'シカゴ'],
  ['Boston', 'ボストン'],
  ['Washington', 'ワシントン'],
  ['Honolulu', 'ホノルル'],
  ['Hawaii', 'ハワイ'],
  ['Toronto', 'トロント'],
  ['Vancouver', 'バンクーバー'],
  ['Mexico City', 'メキシコシティ'],
  ['Sao Paulo', 'サンパウロ'],
  ['Rio de Janeiro', 'リオデジャネイロ'],
  ['Buenos Aires', 'ブエノスアイレス'],
  ['Beijing', '北京'],
  ['Shanghai', '上海'],
  ['Hong Kong', '香港'],
  ['Taipei', '台北'],
  ['Seoul', 'ソウル'],
  ['Busan', '釜山'],
  ['Singapore', 'シンガポール'],
  ['Bangkok', 'バンコク'],
  ['Hanoi', 'ハノイ'],
  ['Jakarta', 'ジャカルタ'],
  ['Manila', 'マニラ'],
  ['Kuala Lumpur', 'クアラルンプール'],
  ['Delhi', 'デリー'],
  ['Mumbai', 'ムンバイ'],
  ['Dubai', 'ドバイ'],
  ['Cairo', 'カイロ'],
  ['Nairobi', 'ナイロビ'],
  ['Sydney', 'シドニー'],
  ['Melbourne', 'メルボルン'],
  ['Auckland', 'オークランド'],
];

const TO_ENGLISH = new Map(CITIES.map(([english, japanese]) => [japanese, english]));
const TO_JAPANESE = new Map(CITIES.map(([english, japanese]) => [english.toLowerCase(), japanese]));
const BY_LOWER = new Map(CITIES.map(([english]) => [english.toLowerCase(), english]));

/** The words of all English names, in small letters. */
export function wordsOfCities(): string[] {
  return [...BY_LOWER.keys()].flatMap((name) => name.split(/[ -]/));
}

/** Whether the city is in the table, in either language. */
export function isKnownCity(name: string): boolean {
  return TO_ENGLISH.has(name) || TO_ENGLISH.has(withoutSuffix(name)) || BY_LOWER.has(name.toLowerCase());
}

/** The name with which the tool is called: the English one of a known city, otherwise what the user wrote. */
export function cityForLookup(name: string): string {
  return (
    TO_ENGLISH.get(name) ?? TO_ENGLISH.get(withoutSuffix(name)) ?? BY_LOWER.get(name.toLowerCase()) ?? name
  );
}

/** The Japanese name of a city when it is known, otherwise the name as it is. */
export function cityInJapanese(name: string): string {
  return TO_JAPANESE.get(name.toLowerCase()) ?? name;
}

function withoutSuffix(name: string): string {
  return name.replace(/(?:都|府|県|市)$/, '');
}
