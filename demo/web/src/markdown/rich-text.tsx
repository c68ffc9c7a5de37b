import { lazy, Suspense } from 'react';

/** If the renderer cannot be loaded, the text is shown as it is. */
const Markdown = lazy(() => import('./markdown.tsx').catch(() => ({ default: PlainText })));

/** Shows a text of the assistant as Markdown, and as plain text until the renderer is loaded. */
export function RichText({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  return (
    <div data-text className="space-y-4 break-words">
      <Suspense
        fallback={
          <div data-unformatted>
            <PlainText text={text} />
          </div>
        }
      >
        <Markdown text={text} isGrowing={isGrowing} />
      </Suspense>
    </div>
  );
}

function PlainText({ text }: { text: string }) {
  return (
    <p dir="auto" className="whitespace-pre-wrap">
      {text}
    </p>
  );
}
