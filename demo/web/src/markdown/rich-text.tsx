import { lazy, Suspense } from 'react';

const Markdown = lazy(() => import('./markdown.tsx'));

/** Text from the assistant: Markdown, and until its renderer is loaded the text as it came. */
export function RichText({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  return (
    <div className="space-y-4 break-words">
      <Suspense fallback={<p className="whitespace-pre-wrap">{text}</p>}>
        <Markdown text={text} isGrowing={isGrowing} />
      </Suspense>
    </div>
  );
}
