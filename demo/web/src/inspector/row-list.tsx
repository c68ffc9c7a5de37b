import { ArrowDownLeft, ArrowUpRight } from 'lucide-react';
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import type { Kind, Row } from './rows.ts';
import { useWords } from './words.ts';

const HEIGHT = 28;
const OVERSCAN = 8;

const COLORS: Readonly<Record<Kind, string>> = {
  text: 'text-ink',
  tool: 'text-warn',
  data: 'text-odd',
  control: 'text-info',
  connection: 'text-soft',
};

/** The rows; only those in sight are drawn. It stays with the newest unless the person scrolls up. */
export function RowList({
  rows,
  selected,
  onSelect,
  startedAt,
}: {
  rows: readonly Row[];
  selected: number | null;
  onSelect: (row: Row) => void;
  /** The time that others are told from. */
  startedAt: number;
}) {
  const words = useWords();
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [view, setView] = useState({ top: 0, height: 400 });

  useLayoutEffect(() => {
    const element = box.current;
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight;
  });
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setView(viewOf(element)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const index = rows.findIndex(({ number }) => number === selected);
  const go = (target: number) => {
    const place = Math.max(0, Math.min(rows.length - 1, target));
    const row = rows[place];
    const element = box.current;
    if (!row || !element) return;
    isAtEnd.current = false;
    if (place * HEIGHT < element.scrollTop) element.scrollTop = place * HEIGHT;
    const below = (place + 1) * HEIGHT - element.clientHeight;
    if (below > element.scrollTop) element.scrollTop = below;
    onSelect(row);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(view.height / HEIGHT) - 1);
    const from = index === -1 ? rows.length : index;
    const targets: Readonly<Record<string, number>> = {
      ArrowUp: from - 1,
      ArrowDown: from + 1,
      PageUp: from - page,
      PageDown: from + page,
      Home: 0,
      End: rows.length - 1,
    };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    go(target);
  };

  const first = Math.max(0, Math.floor(view.top / HEIGHT) - OVERSCAN);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / HEIGHT) + OVERSCAN);
  return (
    <div
      ref={box}
      role="listbox"
      tabIndex={0}
      aria-label={words.list}
      aria-activedescendant={index >= first && index < last ? `${id}-${selected}` : undefined}
      onKeyDown={onKeyDown}
      onScroll={(event) => {
        const element = event.currentTarget;
        isAtEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - HEIGHT;
        setView(viewOf(element));
      }}
      className="relative h-full overflow-y-auto overscroll-contain font-mono text-xs outline-none focus-visible:ring-2 focus-visible:ring-accent focus-visible:ring-inset"
    >
      <div role="presentation" style={{ height: rows.length * HEIGHT }} />
      {rows.slice(first, last).map((row, offset) => (
        <Line
          key={row.number}
          id={`${id}-${row.number}`}
          row={row}
          place={first + offset}
          count={rows.length}
          isSelected={row.number === selected}
          startedAt={startedAt}
          onSelect={onSelect}
        />
      ))}
    </div>
  );
}

function Line({
  id,
  row,
  place,
  count,
  isSelected,
  startedAt,
  onSelect,
}: {
  id: string;
  row: Row;
  place: number;
  count: number;
  isSelected: boolean;
  startedAt: number;
  onSelect: (row: Row) => void;
}) {
  const words = useWords();
  const { direction, kind, type, summary, latency, at } = row;
  const Arrow = direction === 'out' ? ArrowUpRight : ArrowDownLeft;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus
    <div
      id={id}
      role="option"
      aria-selected={isSelected}
      aria-posinset={place + 1}
      aria-setsize={count}
      onClick={() => onSelect(row)}
      style={{ height: HEIGHT, top: place * HEIGHT }}
      className={`absolute inset-x-0 flex cursor-pointer items-center gap-2 px-3 whitespace-nowrap hover:bg-sunken ${isSelected ? 'bg-accent-tint' : ''}`}
    >
      <span className="w-14 shrink-0 text-right text-soft tabular-nums">{seconds(at - startedAt)}</span>
      <Arrow
        aria-label={direction === 'out' ? words.out : words.in}
        className={`size-3.5 shrink-0 ${direction === 'out' ? 'text-good' : 'text-info'}`}
      />
      <span className={`shrink-0 font-medium ${COLORS[kind]}`}>{type}</span>
      <span className="min-w-0 grow truncate text-soft">{summary}</span>
      {latency ? (
        <span
          className="shrink-0 rounded bg-sunken px-1.5 text-ink tabular-nums"
          title={words.waits[latency.of]}
        >
          {milliseconds(latency.ms)}
        </span>
      ) : null}
    </div>
  );
}

function viewOf(element: HTMLElement): { top: number; height: number } {
  return { top: element.scrollTop, height: element.clientHeight };
}

/** A time from the beginning on. */
export function seconds(ms: number): string {
  return (Math.max(0, ms) / 1000).toFixed(3);
}

/** A waiting time. */
export function milliseconds(ms: number): string {
  return ms < 10
    ? `${ms.toFixed(1)} ms`
    : ms < 10_000
      ? `${Math.round(ms)} ms`
      : `${(ms / 1000).toFixed(1)} s`;
}
