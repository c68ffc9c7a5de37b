import {
  Ban,
  Download,
  Ellipsis,
  EyeOff,
  FolderOpen,
  Pause,
  Play,
  Search,
  StepForward,
  X,
} from 'lucide-react';
import { DropdownMenu, ToggleGroup } from 'radix-ui';
import { useRef } from 'react';
import { usePanelTexts } from '../i18n/panels.ts';
import { Button } from '../ui/button.tsx';
import { MENU, MENU_ITEM, MenuLine } from '../ui/choice-menu.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import type { Filter } from './filter.ts';
import { KINDS, type Kind } from './rows.ts';
import type { Rows } from './use-rows.ts';

/** The buttons to save and to replay, and the menu of other actions on a recording. */
export function RecordingActions({
  onReplay,
  onSave,
  onOpen,
}: {
  /** Saves the recording and replays it. */
  onReplay: () => void;
  onSave: (isRedacted: boolean) => void;
  onOpen: (file: File) => void;
}) {
  const words = usePanelTexts().inspector;
  const chooser = useRef<HTMLInputElement>(null);
  return (
    <div className="flex items-center gap-1">
      <Button look="accent" onClick={onReplay} className="min-h-8! px-3!">
        <Play className="size-3.5" aria-hidden="true" />
        {words.saveAndReplay}
      </Button>
      <DropdownMenu.Root modal={false}>
        <DropdownMenu.Trigger asChild>
          <IconButton label={words.recording} className="size-8">
            <Ellipsis className="size-4" />
          </IconButton>
        </DropdownMenu.Trigger>
        <DropdownMenu.Content align="end" sideOffset={6} collisionPadding={12} className={`w-72 ${MENU}`}>
          <DropdownMenu.Item onSelect={() => onSave(false)} className={MENU_ITEM}>
            <Download className="size-4 shrink-0 text-soft" aria-hidden="true" />
            {words.download}
          </DropdownMenu.Item>
          <DropdownMenu.Item onSelect={() => onSave(true)} className={MENU_ITEM}>
            <EyeOff className="size-4 shrink-0 text-soft" aria-hidden="true" />
            <span>
              {words.downloadRedacted}
              <span className="block text-xs text-soft">{words.redactedHint}</span>
            </span>
          </DropdownMenu.Item>
          <MenuLine />
          <DropdownMenu.Item onSelect={() => chooser.current?.click()} className={MENU_ITEM}>
            <FolderOpen className="size-4 shrink-0 text-soft" aria-hidden="true" />
            {words.load}
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Root>
      <input
        ref={chooser}
        type="file"
        accept=".json,application/json"
        hidden
        data-testid="recording-input"
        onChange={(event) => {
          const [file] = event.target.files ?? [];
          if (file) onOpen(file);
          event.target.value = '';
        }}
      />
    </div>
  );
}

/** The buttons that pause and clear the list. */
export function ListActions({ rows }: { rows: Rows }) {
  const words = usePanelTexts().inspector;
  return (
    <div className="flex items-center">
      {rows.isPaused ? (
        <>
          <IconButton label={words.step} onClick={rows.step} disabled={!rows.hasMore} className="size-8">
            <StepForward className="size-4" />
          </IconButton>
          <IconButton label={words.resume} onClick={rows.resume} className="size-8">
            <Play className="size-4" />
          </IconButton>
        </>
      ) : (
        <IconButton label={words.pause} onClick={rows.pause} className="size-8">
          <Pause className="size-4" />
        </IconButton>
      )}
      <IconButton label={words.clear} onClick={rows.clear} className="size-8">
        <Ban className="size-4" />
      </IconButton>
    </div>
  );
}

/** The controls of the filter. */
export function FilterBar({ filter, onChange }: { filter: Filter; onChange: (filter: Filter) => void }) {
  const words = usePanelTexts().inspector;
  return (
    <div className="flex flex-col gap-2 px-3 py-2">
      <div className="flex gap-2">
        <label className="flex h-9 min-w-0 grow items-center gap-2 rounded-lg border border-line-strong px-2.5 focus-within:border-accent">
          <Search className="size-4 shrink-0 text-soft" aria-hidden="true" />
          <input
            type="search"
            aria-label={words.search}
            placeholder={words.search}
            value={filter.text}
            onChange={(event) => onChange({ ...filter, text: event.target.value })}
            className="min-w-0 grow bg-transparent text-sm outline-none placeholder:text-soft"
          />
        </label>
        <select
          aria-label={words.direction}
          value={filter.direction}
          onChange={(event) => onChange({ ...filter, direction: event.target.value as Filter['direction'] })}
          className="h-9 rounded-lg border border-line-strong bg-surface px-2 text-sm"
        >
          {(['both', 'out', 'in'] as const).map((direction) => (
            <option key={direction} value={direction}>
              {words[direction]}
            </option>
          ))}
        </select>
      </div>
      <ToggleGroup.Root
        type="multiple"
        aria-label={words.kinds}
        value={[...filter.kinds]}
        onValueChange={(kinds: Kind[]) => onChange({ ...filter, kinds })}
        className="flex flex-wrap gap-1.5"
      >
        {KINDS.map((kind) => (
          <ToggleGroup.Item
            key={kind}
            value={kind}
            className="h-7 rounded-full border border-line px-2.5 text-xs text-soft transition-colors hover:bg-sunken data-[state=on]:border-accent-line data-[state=on]:bg-accent-tint data-[state=on]:text-ink"
          >
            {words.kind[kind]}
          </ToggleGroup.Item>
        ))}
      </ToggleGroup.Root>
      {filter.target ? (
        <Button
          look="quiet"
          onClick={() => onChange({ ...filter, target: null })}
          className="min-h-8! self-start px-3! text-xs!"
        >
          {'toolCallId' in filter.target ? words.ofCall : words.ofMessage}
          <X className="size-3.5" aria-hidden="true" />
          <span className="sr-only">{words.ofAll}</span>
        </Button>
      ) : null}
    </div>
  );
}
