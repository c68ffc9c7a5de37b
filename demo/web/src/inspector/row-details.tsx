import { Terminal } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { number } from '../i18n/format.ts';
import { useLanguage } from '../i18n/language.tsx';
import { usePanelTexts } from '../i18n/panels.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import type { Target } from '../wire/inspection.tsx';
import { commandOf } from './commands.ts';
import { Json, pretty } from './json.tsx';
import type { Line, Run, Turn } from './lines.ts';
import { milliseconds, seconds } from './row-list.tsx';
import type { Row } from './rows.ts';
import { RuleTexts } from './rule-texts.tsx';
import { canShow, showTarget } from './show-target.ts';

/** The details of the selected line. */
export function LineDetails({ line, startedAt }: { line: Line | null; startedAt: number }) {
  const words = usePanelTexts().inspector;
  if (!line) return <p className="px-4 py-3 text-sm text-soft">{words.selectOne}</p>;
  switch (line.kind) {
    case 'turn':
      return <TurnDetails turn={line.turn} />;
    case 'run':
      return <RunDetails run={line.run} startedAt={startedAt} />;
    case 'row':
      return <RowDetails row={line.row} startedAt={startedAt} />;
  }
}

function RowDetails({ row, startedAt }: { row: Row; startedAt: number }) {
  const words = usePanelTexts().inspector;
  const { language } = useLanguage();
  const command = commandOf(row, location.origin);
  const facts = [
    row.direction === 'out' ? words.out : words.in,
    `${seconds(row.at - startedAt)} s`,
    row.wire,
    words.channel(row.channel),
    row.id,
    `${number(row.size, language)} B`,
    row.latency ? `${milliseconds(row.latency.ms)} ${words.waits[row.latency.of]}` : null,
  ];
  return (
    <Frame
      title={row.type}
      facts={facts}
      target={targetOf(row)}
      copy={
        <>
          {command ? <CopyCommand {...command} /> : null}
          <CopyButton text={pretty(row.body)} label={words.copy} />
        </>
      }
    >
      <RuleTexts key={row.type} type={row.type} />
      <Json text={row.body} />
    </Frame>
  );
}

function RunDetails({ run: { rows, type, text }, startedAt }: { run: Run; startedAt: number }) {
  const words = usePanelTexts().inspector;
  const { language } = useLanguage();
  const [first, last] = [rows[0], rows.at(-1)];
  if (!first || !last) return null;
  const facts = [
    words.in,
    `${seconds(first.at - startedAt)} s`,
    first.wire,
    words.within(number(rows.length, language), milliseconds(last.at - first.at)),
  ];
  return (
    <Frame
      title={`${type} ×${rows.length}`}
      facts={facts}
      target={targetOf(first)}
      copy={<CopyButton text={text} label={words.copy} />}
    >
      <RuleTexts key={type} type={type} />
      <p dir="auto" className="text-sm break-words whitespace-pre-wrap">
        {text}
      </p>
    </Frame>
  );
}

function TurnDetails({ turn }: { turn: Turn }) {
  const words = usePanelTexts().inspector;
  const { language } = useLanguage();
  const facts = [
    words.held(number(turn.rows, language)),
    turn.wire,
    turn.firstTokenMs === null ? null : words.firstToken(milliseconds(turn.firstTokenMs)),
  ];
  return (
    <Frame
      title={turn.number === 0 ? words.beforeTurns : words.turn(turn.number)}
      facts={facts}
      target={null}
      copy={null}
    >
      <p dir="auto" className="text-sm break-words whitespace-pre-wrap">
        {turn.title}
      </p>
    </Frame>
  );
}

function Frame({
  title,
  facts,
  target,
  copy,
  children,
}: {
  title: string;
  facts: readonly (string | null)[];
  target: Target | null;
  copy: ReactNode;
  children: ReactNode;
}) {
  const words = usePanelTexts().inspector;
  return (
    <section aria-label={words.details} className="flex h-full flex-col">
      <div className="flex items-center gap-1 pt-1 pr-2 pl-4">
        <h3 className="min-w-0 grow truncate font-mono text-xs font-semibold">{title}</h3>
        {target && canShow(target) ? (
          <button
            type="button"
            onClick={() => showTarget(target)}
            className="hidden h-8 shrink-0 rounded-lg px-2 text-xs text-accent hover:bg-sunken lg:block"
          >
            {words.toConversation}
          </button>
        ) : null}
        {copy}
      </div>
      <p className="px-4 pb-2 text-xs break-words text-soft">{facts.filter(Boolean).join(' · ')}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable without a pointer */}
      <div tabIndex={0} className="min-h-0 grow overflow-y-auto px-4 pb-4">
        {children}
      </div>
    </section>
  );
}

function CopyCommand({ tool, text }: { tool: string; text: string }) {
  const words = usePanelTexts().inspector;
  const [isCopied, setCopied] = useState(false);
  return (
    <button
      type="button"
      onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}
      className="inline-flex h-8 shrink-0 items-center gap-1.5 rounded-lg px-2 text-xs text-soft hover:bg-sunken hover:text-ink"
    >
      <Terminal className="size-3.5" aria-hidden="true" />
      {isCopied ? words.copiedAs(tool) : words.copyAs(tool)}
    </button>
  );
}

function targetOf({ toolCallId, messageId }: Row): Target | null {
  if (toolCallId !== null) return { toolCallId };
  return messageId === null ? null : { messageId };
}
