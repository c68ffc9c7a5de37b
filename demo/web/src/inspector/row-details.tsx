import { number } from '../i18n/format.ts';
import { useLanguage } from '../i18n/language.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { Json, pretty } from './json.tsx';
import { milliseconds, seconds } from './row-list.tsx';
import type { Row } from './rows.ts';
import { useWords } from './words.ts';

/** All of one row. */
export function RowDetails({ row, startedAt }: { row: Row | null; startedAt: number }) {
  const words = useWords();
  const { language } = useLanguage();
  if (!row) return <p className="px-4 py-3 text-sm text-soft">{words.selectOne}</p>;
  const facts = [
    row.direction === 'out' ? words.out : words.in,
    `${seconds(row.at - startedAt)} s`,
    words.channel(row.channel),
    row.id,
    `${number(row.size, language)} B`,
    row.latency ? `${milliseconds(row.latency.ms)} ${words.waits[row.latency.of]}` : null,
  ];
  return (
    <section aria-label={words.details} className="flex h-full flex-col">
      <div className="flex items-center gap-2 pr-2 pl-4">
        <h3 className="min-w-0 grow truncate font-mono text-xs font-semibold">{row.type}</h3>
        <CopyButton text={pretty(row.body)} label={words.copy} />
      </div>
      <p className="px-4 pb-2 text-xs break-words text-soft">{facts.filter(Boolean).join(' · ')}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable without a pointer */}
      <div tabIndex={0} className="min-h-0 grow overflow-y-auto px-4 pb-4">
        <Json text={row.body} />
      </div>
    </section>
  );
}
