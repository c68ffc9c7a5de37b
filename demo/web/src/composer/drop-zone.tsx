import { ImageDown } from 'lucide-react';
import { type DragEvent, type ReactNode, useRef, useState } from 'react';
import { useMessages } from '../i18n/language.tsx';

/** Takes files that are dropped anywhere on what it holds. */
export function DropZone({
  onFiles,
  children,
}: {
  onFiles: (files: readonly File[]) => void;
  children: ReactNode;
}) {
  const { composer } = useMessages();
  const [isOver, setOver] = useState(false);
  // Every child that the pointer crosses says so: only the balance counts.
  const depth = useRef(0);
  const watch = (change: number) => (event: DragEvent) => {
    if (!event.dataTransfer.types.includes('Files')) return;
    event.preventDefault();
    depth.current += change;
    setOver(depth.current > 0);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    depth.current = 0;
    setOver(false);
    onFiles([...event.dataTransfer.files]);
  };
  return (
    <main
      onDragEnter={watch(1)}
      onDragLeave={watch(-1)}
      onDragOver={(event) => event.preventDefault()}
      onDrop={drop}
      className="relative flex min-h-0 min-w-0 grow flex-col"
    >
      {children}
      {isOver ? (
        <div className="pointer-events-none absolute inset-3 z-30 flex animate-fade flex-col items-center justify-center gap-2 rounded-2xl border-2 border-dashed border-accent bg-accent-tint/95 text-accent">
          <ImageDown className="size-8" aria-hidden="true" />
          <p className="font-medium">{composer.dropHere}</p>
          <p className="text-sm">{composer.dropHint}</p>
        </div>
      ) : null}
    </main>
  );
}
