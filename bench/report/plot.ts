/** One bar, from zero to the median, with a line for the range. */
export interface Bar {
  name: string;
  median: number;
  low: number;
  high: number;
  /** Drawn in the strong colour. */
  isStrong: boolean;
  /** Drawn pale, because this variant does less work than the others. */
  isPale: boolean;
}

const LEFT = 260;
const WIDTH = 560;
const ROW = 26;
const TOP = 44;

/** A bar chart as SVG, readable on light and dark backgrounds. */
export function plotBars(title: string, bars: readonly Bar[], mark?: number): string {
  const end = Math.max(...bars.map(({ high }) => high), mark ?? 0, 1e-9);
  const at = (value: number): number => LEFT + (Math.max(value, 0) / end) * WIDTH;
  const height = TOP + bars.length * ROW + 12;
  const rows = bars.map(({ name, median, low, high, isStrong, isPale }, index) => {
    const y = TOP + index * ROW;
    const fill = isStrong ? '#2563eb' : isPale ? '#a3a3a3' : '#737373';
    return [
      `<text x="${LEFT - 8}" y="${y + 14}" text-anchor="end">${asXml(name)}</text>`,
      `<rect x="${LEFT}" y="${y + 2}" width="${(at(median) - LEFT).toFixed(1)}" height="16" fill="${fill}"/>`,
      `<path d="M${at(low).toFixed(1)} ${y + 10}H${at(high).toFixed(1)}" stroke="#f59e0b" stroke-width="2"/>`,
      `<text x="${(at(high) + 6).toFixed(1)}" y="${y + 14}">${median.toFixed(2)}</text>`,
    ].join('');
  });
  const line =
    mark === undefined
      ? ''
      : `<path d="M${at(mark)} ${TOP - 4}V${height - 8}" stroke="#dc2626" stroke-dasharray="4 3"/>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${LEFT + WIDTH + 70} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="#6b7280">
<text x="8" y="20" font-size="14" font-weight="600">${asXml(title)}</text>
${rows.join('\n')}
${line}
</svg>
`;
}

function asXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
