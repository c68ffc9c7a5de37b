import type { Cost } from '../parse/cost.ts';
import type { ParsedResponse, ToolUse, Usage } from '../parse/index.ts';

/** A response to print: its file, its record, and its cost; the cost is null without `--cost`. */
export interface Row {
  file: string;
  record: ParsedResponse;
  cost: Cost | null;
}

/** Removes control characters: a response could contain escape sequences that clear the terminal or change its settings. */
function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
}

function number(count: number | null | undefined): string {
  return count === null || count === undefined ? '?' : count.toLocaleString('en-US');
}

function dollars(usd: number | null): string {
  return usd === null ? 'unknown' : `$${usd.toFixed(usd < 0.01 ? 6 : 4)}`;
}

function tokens(usage: Usage | null): string {
  if (usage === null) return 'not stated';
  const cached = [
    usage.cacheRead ? `${number(usage.cacheRead)} from cache` : '',
    usage.cacheWrite ? `${number(usage.cacheWrite)} to cache` : '',
  ].filter(Boolean);
  const input = `${number(usage.input)} in${cached.length > 0 ? ` (${cached.join(', ')})` : ''}`;
  const output = `${number(usage.output)} out${usage.reasoning ? ` (${number(usage.reasoning)} reasoning)` : ''}`;
  return `${input}, ${output}, ${number(usage.total)} in all`;
}

function short(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

function tool(use: ToolUse): string {
  const input = typeof use.input === 'string' ? use.input : JSON.stringify(use.input);
  const where = use.executor === 'server' ? ', run by the provider' : '';
  return `${use.name} ${short(input ?? '', 200)}  (${use.id}${where}${use.inputValid ? '' : ', not valid JSON'})`;
}

/** Formats one response in full. */
export function view({ record, cost }: Row): string {
  const raw =
    record.stopReason === null || record.stopReason === record.finish ? '' : ` (${record.stopReason})`;
  const lines: [string, string][] = [
    ['api', record.api ?? 'not recognised'],
    ['model', record.model ?? 'not stated'],
    ['finish', `${record.finish ?? 'not stated'}${raw}${record.complete ? '' : ', incomplete'}`],
    ['tokens', tokens(record.usage)],
  ];
  if (cost !== null) lines.push(['cost', dollars(cost.usd)]);
  for (const use of record.toolUses) lines.push(['tool', tool(use)]);
  if (record.refusal !== null) lines.push(['refusal', record.refusal]);
  if (record.error !== null) {
    const code = [record.error.status, record.error.type, record.error.code]
      .filter((part) => part !== null)
      .join(' ');
    lines.push(['error', code === '' ? record.error.message : `${record.error.message} (${code})`]);
  }
  for (const warning of [...record.warnings, ...(cost?.warnings ?? [])]) {
    lines.push(['warning', warning.message === '' ? warning.code : `${warning.code}: ${warning.message}`]);
  }
  const head = lines.map(([name, value]) => `${name.padEnd(8)} ${plain(value)}\n`).join('');
  return record.text === '' ? head : `${head}\n${plain(record.text)}\n`;
}

function sum(rows: readonly Row[], of: (row: Row) => number | null | undefined): number | null {
  const known = rows.map(of).filter((value) => typeof value === 'number');
  return known.length === 0 ? null : known.reduce((total, value) => total + value, 0);
}

/** Formats several responses as a table, with a line of totals. */
export function table(rows: readonly Row[]): string {
  const priced = rows.some((row) => row.cost !== null);
  const cells = rows.map(({ file, record, cost }) => [
    file,
    record.api ?? '-',
    record.model ?? '-',
    record.finish ?? '-',
    number(record.usage?.input),
    number(record.usage?.output),
    String(record.toolUses.length),
    ...(priced ? [dollars(cost?.usd ?? null)] : []),
  ]);
  const faulty = rows.filter(({ record }) => record.error !== null || !record.complete).length;
  const totals = [
    `${rows.length} responses${faulty > 0 ? `, ${faulty} faulty` : ''}`,
    '',
    '',
    '',
    number(sum(rows, (row) => row.record.usage?.input)),
    number(sum(rows, (row) => row.record.usage?.output)),
    String(sum(rows, (row) => row.record.toolUses.length)),
    ...(priced ? [dollars(sum(rows, (row) => row.cost?.usd))] : []),
  ];
  const head = ['file', 'api', 'model', 'finish', 'in', 'out', 'tools', ...(priced ? ['cost'] : [])];
  const all = [head, ...cells, totals].map((line) => line.map(plain));
  const widths = head.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0)));
  const draw = (line: string[]) =>
    line
      .map((cell, i) => (i < 4 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  const rule = '-'.repeat(widths.reduce((total, width) => total + width + 2, -2));
  const [first = [], ...rest] = all;
  return `${[draw(first), rule, ...rest.slice(0, -1).map(draw), rule, draw(rest.at(-1) ?? [])].join('\n')}\n`;
}
