import { FileDown } from 'lucide-react';
import { type DragEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { useMessages } from '../i18n/language.tsx';

/** Accepts files that are dropped anywhere on its children. Dropped text is handled by the browser. */
export function DropZone({
  onFiles,
  isCovered,
  most,
  children,
}: {
  onFiles: (files: readonly File[]) => void;
  /** Whether a panel or dialog covers the zone, so that it accepts nothing. */
  isCovered: boolean;
  /** How many files a message may have. */
  most: number;
  children: ReactNode;
}) {
  const { composer } = useMessages();
  const [isOver, setOver] = useState(false);
  // Each child that the pointer enters or leaves sends an event: the pointer is inside while the count is above zero.
  const depth = useRef(0);
  useEffect(keepPage, []);
  const watch = (change: number) => (event: DragEvent) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    depth.current += change;
    setOver(depth.current > 0);
  };
  const drop = (event: DragEvent) => {
    if (!holdsFiles(event)) return;
    depth.current = 0;
    setOver(false);
    onFiles([...event.dataTransfer.files]);
  };
  return (
    <main
      inert={isCovered}
      onDragEnter={watch(1)}
      onDragLeave={watch(-1)}
      onDrop={drop}
      className="relative flex min-h-0 min-w-0 grow flex-col print:block"
    >
      {children}
      {isOver ? (
        <div className="pointer-events-none absolute inset-3 z-30 flex animate-fade flex-col items-center justify-center gap-2 rounded-2xl border-2 border-dashed border-accent bg-accent-tint/95 text-accent">
          <FileDown className="size-8" aria-hidden="true" />
          <p className="font-medium">{composer.dropHere}</p>
          <p className="text-sm">{composer.dropHint(most)}</p>
        </div>
      ) : null}
    </main>
  );
}

function holdsFiles({ dataTransfer }: { dataTransfer: DataTransfer | null }): boolean {
  return dataTransfer?.types.includes('Files') === true;
}

/**
 * Prevents the browser from opening a file that is dropped anywhere on the page. Returns a function that removes
 * this.
 */
function keepPage(): () => void {
  const refuse = (event: globalThis.DragEvent) => {
    if (holdsFiles(event)) event.preventDefault();
  };
  window.addEventListener('dragover', refuse);
  window.addEventListener('drop', refuse);
  return () => {
    window.removeEventListener('dragover', refuse);
    window.removeEventListener('drop', refuse);
  };
}
