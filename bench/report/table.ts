/** Rows as the lines of a Markdown table, its columns aligned so that it reads well in a terminal too. */
export function tableLines(rows: readonly Record<string, string>[]): string[] {
  const heads = Object.keys(rows[0] ?? {});
  const widths = heads.map((head) => Math.max(head.length, ...rows.map((row) => (row[head] ?? '').length)));
  const line = (cells: string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  return [
    line(heads),
    `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`,
    ...rows.map((row) => line(heads.map((head) => row[head] ?? ''))),
  ];
}

/** Prints rows as a table. */
export function printTable(rows: readonly Record<string, string>[]): void {
  console.log(tableLines(rows).join('\n'));
}
