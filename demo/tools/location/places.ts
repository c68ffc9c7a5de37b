/** Towns by which a position is described: the name in both languages, latitude, longitude. */
const PLACES: readonly (readonly [en: string, ja: string, latitude: number, longitude: number])[] = [
  ['Tokyo', '東京', 35.68, 139.77],
  ['Yokohama', '横浜', 35.44, 139.64],
  ['Osaka', '大阪', 34.69, 135.5],
  ['Kyoto', '京都', 35.01, 135.77],
  ['Kobe', '神戸', 34.69, 135.2],
  ['Nagoya', '名古屋', 35.18, 136.91],
  ['Sapporo', '札幌', 43.06, 141.35],
  ['Sendai', '仙台', 38.27, 140.87],
  ['Hiroshima', '広島', 34.39, 132.46],
  ['Fukuoka', '福岡', 33.59, 130.4],
  ['Naha', '那覇', 26.21, 127.68],
  ['Seoul', 'ソウル', 37.57, 126.98],
  ['Beijing', '北京', 39.9, 116.41],
  ['Shanghai', '上海', 31.23, 121.47],
  ['Singapore', 'シンガポール', 1.35, 103.82],
  ['Sydney', 'シドニー', -33.87, 151.21],
  ['Delhi', 'デリー', 28.61, 77.21],
  ['London', 'ロンドン', 51.51, -0.13],
  ['Paris', 'パリ', 48.86, 2.35],
  ['Berlin', 'ベルリン', 52.52, 13.41],
  ['Madrid', 'マドリード', 40.42, -3.7],
  ['Rome', 'ローマ', 41.9, 12.5],
  ['Vienna', 'ウィーン', 48.21, 16.37],
  ['Amsterdam', 'アムステルダム', 52.37, 4.9],
  ['New York', 'ニューヨーク', 40.71, -74.01],
  ['Chicago', 'シカゴ', 41.88, -87.63],
  ['San Francisco', 'サンフランシスコ', 37.77, -122.42],
  ['Los Angeles', 'ロサンゼルス', 34.05, -118.24],
  ['Toronto', 'トロント', 43.65, -79.38],
  ['Mexico City', 'メキシコシティ', 19.43, -99.13],
  ['São Paulo', 'サンパウロ', -23.55, -46.63],
  ['Cairo', 'カイロ', 30.04, 31.24],
  ['Nairobi', 'ナイロビ', -1.29, 36.82],
];

/** A town that is further away than this does not describe a position. */
const NEAR_KM = 40;
const KM_PER_DEGREE = 111;

/** The nearest town of the table, in both languages; null when it is more than `NEAR_KM` away. */
export function placeNear(latitude: number, longitude: number): { en: string; ja: string } | null {
  const away = ([, , lat, lon]: (typeof PLACES)[number]) =>
    KM_PER_DEGREE * Math.hypot(lat - latitude, (lon - longitude) * Math.cos((latitude * Math.PI) / 180));
  const [nearest] = PLACES.toSorted((one, other) => away(one) - away(other));
  return nearest && away(nearest) <= NEAR_KM ? { en: nearest[0], ja: nearest[1] } : null;
}
