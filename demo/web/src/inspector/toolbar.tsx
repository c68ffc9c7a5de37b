import { Ban, Download, FolderOpen, Pause, Play, Search, StepForward } from 'lucide-react';
import { ToggleGroup } from 'radix-ui';
import { useRef } from 'react';
import { IconButton } from '../ui/icon-button.tsx';
import type { Filter } from './filter.ts';
import { KINDS, type Kind } from './rows.ts';
import type { Rows } from './use-rows.ts';
import { useWords } from './words.ts';

/** Holding, emptying, saving and opening. */
export function Actions({
  rows,
  onSave,
  onOpen,
}: {
  rows: Rows;
  onSave: () => void;
  onOpen: (file: File) => void;
}) {
  const words = useWords();
  const chooser = useRef<HTMLInputElement>(null);
  return (
    <div className="flex items-center">
      {rows.isPaused ? (
        <>
          <IconButton label={words.step} onClick={rows.step} disabled={!rows.hasMore}>
            <StepForward className="size-4" />
          </IconButton>
          <IconButton label={words.resume} onClick={rows.resume}>
            <Play className="size-4" />
          </IconButton>
        </>
      ) : (
        <IconButton label={words.pause} onClick={rows.pause}>
          <Pause className="size-4" />
        </IconButton>
      )}
      <IconButton label={words.clear} onClick={rows.clear}>
        <Ban className="size-4" />
      </IconButton>
      <IconButton label={words.download} onClick={onSave}>
        <Download className="size-4" />
      </IconButton>
      <IconButton label={words.load} onClick={() => chooser.current?.click()}>
        <FolderOpen className="size-4" />
      </IconButton>
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

/** Which rows are wanted. */
export function FilterBar({ filter, onChange }: { filter: Filter; onChange: (filter: Filter) => void }) {
  const words = useWords();
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
    </div>
  );
}
