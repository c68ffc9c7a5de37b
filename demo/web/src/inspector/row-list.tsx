import { ArrowDownLeft, ArrowUpRight, ChevronRight } from 'lucide-react';
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import { usePanelTexts } from '../i18n/panels.ts';
import type { Line } from './lines.ts';
import type { Kind, Row } from './rows.ts';

const HEIGHT = 28;
const OVERSCAN = 8;

const COLORS: Readonly<Record<Kind, string>> = {
  text: 'text-ink',
  tool: 'text-warn',
  data: 'text-odd',
  control: 'text-info',
  connection: 'text-soft',
};

/** The list of lines. Only visible lines are rendered. It scrolls to new lines unless the user has scrolled up. */
export function RowList({
  lines,
  selected,
  onSelect,
  onFold,
  startedAt,
}: {
  lines: readonly Line[];
  /** The key of the selected line. */
  selected: string | null;
  onSelect: (line: Line) => void;
  /** Folds or unfolds a run. */
  onFold: (key: string, isUnfolded: boolean) => void;
  /** The time that is shown as zero. */
  startedAt: number;
}) {
  const words = usePanelTexts().inspector;
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [view, setView] = useState({ top: 0, height: 400 });

  const index = lines.findIndex(({ key }) => key === selected);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a line that is chosen is shown once, wherever it goes later
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || index === -1) return;
    isAtEnd.current = false;
    if (index * HEIGHT < element.scrollTop) element.scrollTop = index * HEIGHT;
    // The details below the list make it shorter, which could hide the selected line.
    const below = (index + 1) * HEIGHT - element.clientHeight;
    if (below > element.scrollTop) element.scrollTop = below;
  }, [selected]);
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

  const go = (target: number) => {
    const place = Math.max(0, Math.min(lines.length - 1, target));
    const line = lines[place];
    if (line) onSelect(line);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(view.height / HEIGHT) - 1);
    const from = index === -1 ? lines.length : index;
    const line = lines[index];
    if (line?.kind === 'run' && (event.key === 'ArrowRight' || event.key === 'ArrowLeft')) {
      event.preventDefault();
      return onFold(line.key, event.key === 'ArrowRight');
    }
    const targets: Readonly<Record<string, number>> = {
      ArrowUp: from - 1,
      ArrowDown: from + 1,
      PageUp: from - page,
      PageDown: from + page,
      Home: 0,
      End: lines.length - 1,
    };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    go(target);
  };

  const first = Math.max(0, Math.floor(view.top / HEIGHT) - OVERSCAN);
  const last = Math.min(lines.length, Math.ceil((view.top + view.height) / HEIGHT) + OVERSCAN);
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
      <div role="presentation" style={{ height: lines.length * HEIGHT }} />
      {lines.slice(first, last).map((line, offset) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the keys
        // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus
        <div
          key={line.key}
          id={`${id}-${line.key}`}
          role="option"
          aria-selected={line.key === selected}
          aria-posinset={first + offset + 1}
          aria-setsize={lines.length}
          data-kind={line.kind}
          onClick={() => {
            if (line.kind === 'run' && line.key === selected) onFold(line.key, !line.isUnfolded);
            onSelect(line);
          }}
          style={{ height: HEIGHT, top: (first + offset) * HEIGHT }}
          className={`absolute inset-x-0 flex cursor-pointer items-center gap-2 px-3 whitespace-nowrap hover:bg-sunken ${line.key === selected ? 'bg-accent-tint' : line.kind === 'turn' ? 'bg-sunken/70' : ''}`}
        >
          <LineContent line={line} startedAt={startedAt} />
        </div>
      ))}
    </div>
  );
}

function LineContent({ line, startedAt }: { line: Line; startedAt: number }) {
  const words = usePanelTexts().inspector;
  if (line.kind === 'turn') {
    const { number, title, wire, firstTokenMs } = line.turn;
    return (
      <>
        <span className="shrink-0 font-sans font-semibold">
          {number === 0 ? words.beforeTurns : words.turn(number)}
        </span>
        <span className="min-w-0 grow truncate font-sans text-soft">{title}</span>
        <span className="shrink-0 font-sans text-soft tabular-nums">
          {firstTokenMs === null ? wire : `${words.firstToken(milliseconds(firstTokenMs))} · ${wire}`}
        </span>
      </>
    );
  }
  if (line.kind === 'run') {
    const { rows, type, text } = line.run;
    const [row] = rows;
    return row ? (
      <>
        <Head row={row} startedAt={startedAt} />
        <ChevronRight
          aria-hidden="true"
          className={`size-3 shrink-0 text-soft transition-transform ${line.isUnfolded ? 'rotate-90' : ''}`}
        />
        <span className={`shrink-0 font-medium ${COLORS[row.kind]}`}>
          {type} ×{rows.length}
        </span>
        <span className="min-w-0 grow truncate text-soft">{text}</span>
        <Latency row={row} />
      </>
    ) : null;
  }
  const { row } = line;
  return (
    <>
      <Head row={row} startedAt={startedAt} />
      <span className={`shrink-0 font-medium ${COLORS[row.kind]}`}>{row.type}</span>
      <span className="min-w-0 grow truncate text-soft">{row.summary}</span>
      <Latency row={row} />
    </>
  );
}

/** The time and the direction of a row. */
function Head({ row: { at, direction }, startedAt }: { row: Row; startedAt: number }) {
  const words = usePanelTexts().inspector;
  const Arrow = direction === 'out' ? ArrowUpRight : ArrowDownLeft;
  return (
    <>
      <span className="w-14 shrink-0 text-right text-soft tabular-nums">{seconds(at - startedAt)}</span>
      <Arrow
        aria-label={direction === 'out' ? words.out : words.in}
        className={`size-3.5 shrink-0 ${direction === 'out' ? 'text-good' : 'text-info'}`}
      />
    </>
  );
}

/** How long the page waited for this row; empty for rows for which it did not wait. */
function Latency({ row: { latency } }: { row: Row }) {
  const words = usePanelTexts().inspector;
  if (!latency) return null;
  return (
    <span className="shrink-0 rounded bg-sunken px-1.5 text-ink tabular-nums" title={words.waits[latency.of]}>
      {milliseconds(latency.ms)}
    </span>
  );
}

function viewOf(element: HTMLElement): { top: number; height: number } {
  return { top: element.scrollTop, height: element.clientHeight };
}

/** Formats the time since the start of the recording. */
export function seconds(ms: number): string {
  return (Math.max(0, ms) / 1000).toFixed(3);
}

/** Formats a latency. */
export function milliseconds(ms: number): string {
  return ms < 10
    ? `${ms.toFixed(1)} ms`
    : ms < 10_000
      ? `${Math.round(ms)} ms`
      : `${(ms / 1000).toFixed(1)} s`;
}
