import { Tabs } from 'radix-ui';
import { useEffect, useMemo, useState } from 'react';
import { number } from '../i18n/format.ts';
import { useLanguage } from '../i18n/language.tsx';
import { usePanelTexts } from '../i18n/panels.ts';
import type { PanelProps } from '../panel/panels.ts';
import { ReplayPlayer } from '../replay/player.ts';
import { type Problem, RecordingError, readRecording } from '../replay/read-recording.ts';
import { useInspection } from '../wire/inspection.tsx';
import type { Recording } from '../wire/recording.ts';
import { useWire } from '../wire/wire.tsx';
import { AdkEvents, Note } from './adk-events.tsx';
import { type Filter, filterRows } from './filter.ts';
import { type Line, linesOf } from './lines.ts';
import { nodesIn } from './nodes.ts';
import { redacted } from './redact.ts';
import { LineDetails } from './row-details.tsx';
import { RowList } from './row-list.tsx';
import { KINDS } from './rows.ts';
import { recordingOf, saveFile } from './save.ts';
import { FilterBar, ListActions, RecordingActions } from './toolbar.tsx';
import { type Rows, useRows } from './use-rows.ts';

const MAX_FILE_BYTES = 64 * 1024 * 1024;
const TAB =
  'h-8 rounded-lg px-3 text-sm text-soft transition-colors hover:text-ink data-[state=active]:bg-sunken data-[state=active]:font-medium data-[state=active]:text-ink';

/** The inspector: frames and chunks as they are sent, the ADK events, and recordings. */
export default function InspectorPanel({ sessionId }: PanelProps) {
  const words = usePanelTexts().inspector;
  const { recorder, replay, showReplay, chat } = useWire();
  const source = replay ?? recorder;
  const rows = useRows(source);
  const [problem, setProblem] = useState<Problem | 'size' | null>(null);

  useEffect(() => {
    // Loads the replay in advance, so that a recording can be replayed while the server is away.
    void import('../replay/replay-bar.tsx');
  }, []);
  const recorded = (): Recording | null => {
    const { current } = chat;
    if (replay) return replay.recording;
    return current ? recordingOf(recorder, current) : null;
  };
  const save = (recording: Recording | null) => {
    if (!recording) return;
    saveFile(`${recording.sessionId}.recording.json`, 'application/json', JSON.stringify(recording));
  };
  const saveAndReplay = () => {
    const recording = recorded();
    save(recording);
    if (recording) showReplay(new ReplayPlayer(recording));
  };
  const open = async (file: File) => {
    setProblem(null);
    if (file.size > MAX_FILE_BYTES) return setProblem('size');
    try {
      showReplay(new ReplayPlayer(readRecording(await file.text())));
    } catch (error) {
      if (!(error instanceof RecordingError)) throw error;
      setProblem(error.problem);
    }
  };
  return (
    <Tabs.Root defaultValue="wire" className="flex h-full flex-col">
      <div className="flex flex-wrap items-center justify-between gap-1 border-b border-line px-2 py-1.5">
        <Tabs.List aria-label={words.views} className="flex gap-1">
          <Tabs.Trigger value="wire" className={TAB}>
            {words.wire}
          </Tabs.Trigger>
          <Tabs.Trigger value="events" className={TAB}>
            {words.events}
          </Tabs.Trigger>
        </Tabs.List>
        <RecordingActions
          onReplay={saveAndReplay}
          onSave={(isRedacted) => {
            const recording = recorded();
            save(recording && isRedacted ? redacted(recording) : recording);
          }}
          onOpen={(file) => void open(file)}
        />
      </div>
      {problem === null ? null : (
        <p role="alert" className="border-b border-bad-line bg-bad-tint px-4 py-2 text-sm text-bad">
          {words.unreadable}: {words.problems[problem]}
        </p>
      )}
      <Tabs.Content value="wire" className="flex min-h-0 grow flex-col outline-none">
        <Wire rows={rows} />
      </Tabs.Content>
      <Tabs.Content value="events" className="min-h-0 grow outline-none">
        {replay ? <Note text={words.eventsReplay} /> : <AdkEvents sessionId={sessionId} source={source} />}
      </Tabs.Content>
    </Tabs.Root>
  );
}

function Wire({ rows: held }: { rows: Rows }) {
  const { rows, isPaused, hasMore } = held;
  const words = usePanelTexts().inspector;
  const { language } = useLanguage();
  const { target, inspect } = useInspection();
  const [filter, setFilter] = useState<Omit<Filter, 'target'>>({ text: '', direction: 'both', kinds: KINDS });
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const [selected, setSelected] = useState<Line | null>(null);
  const shown = useMemo(() => filterRows(rows, { ...filter, target }), [rows, filter, target]);
  const lines = useMemo(() => linesOf(shown, unfolded), [shown, unfolded]);
  const fold = (key: string, isUnfolded: boolean) =>
    setUnfolded((all) => new Set(isUnfolded ? [...all, key] : [...all].filter((one) => one !== key)));
  const nodes = useMemo(() => nodesIn(rows), [rows]);
  const startedAt = rows[0]?.at ?? 0;
  // The selected run or turn may have more rows by now.
  const current = lines.find(({ key }) => key === selected?.key) ?? selected;
  return (
    <>
      <FilterBar
        filter={{ ...filter, target }}
        onChange={({ target: wanted, ...rest }) => {
          setFilter(rest);
          if (wanted !== target) inspect(wanted);
        }}
      />
      <div className="flex items-center justify-between border-b border-line pr-2 pb-1 pl-4 text-xs text-soft">
        <p>
          {words.held(number(shown.length, language))}
          {nodes && ` · ${words.nodes(nodes.serves, nodes.owns)}`}
          {isPaused ? ` · ${hasMore ? words.waiting : words.paused}` : ''}
        </p>
        <ListActions rows={held} />
      </div>
      <div className="min-h-0 grow basis-0">
        {shown.length === 0 ? (
          <Note text={rows.length > 0 ? words.noMatch : hasMore ? words.noneShown : words.none} />
        ) : (
          <RowList
            lines={lines}
            selected={selected?.key ?? null}
            onSelect={setSelected}
            onFold={fold}
            startedAt={startedAt}
          />
        )}
      </div>
      <div className={`border-t border-line ${current ? 'h-2/5 min-h-40' : ''}`}>
        <LineDetails line={current} startedAt={startedAt} />
      </div>
    </>
  );
}
