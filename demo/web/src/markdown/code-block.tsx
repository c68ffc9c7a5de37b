import { type ReactNode, useEffect, useState } from 'react';
import { useMessages } from '../i18n/language.tsx';
import { CopyButton } from '../ui/copy-button.tsx';

/** Shows code. Colours it once it is complete, because colouring it again after each delta would take too long. */
export function CodeBlock({
  code,
  language,
  isGrowing,
}: {
  code: string;
  language: string;
  isGrowing: boolean;
}) {
  const messages = useMessages();
  const name = language.split(/\s/)[0] ?? '';
  const coloured = useColours(isGrowing ? null : code, name);
  return (
    <figure dir="ltr" className="overflow-hidden rounded-xl border border-line bg-surface">
      <figcaption className="flex items-center justify-between border-b border-line bg-sunken pr-1 pl-4 text-xs text-soft">
        <span className="font-mono">{name || messages.message.code}</span>
        <CopyButton text={code} label={messages.message.copyCode} className="size-8" />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways must be reachable without a pointer */}
      <pre tabIndex={0} className="overflow-x-auto p-4 font-mono text-[0.8125rem] leading-relaxed">
        <code>{coloured ?? code}</code>
      </pre>
    </figure>
  );
}

function useColours(code: string | null, language: string): ReactNode {
  const [coloured, setColoured] = useState<ReactNode>(null);
  useEffect(() => {
    setColoured(null);
    if (code === null || language === '') return;
    let isWanted = true;
    import('./highlight.tsx').then(
      ({ highlight }) => isWanted && setColoured(highlight(code, language)),
      // If the colours cannot be loaded, the code is shown without them.
      () => undefined,
    );
    return () => {
      isWanted = false;
    };
  }, [code, language]);
  return coloured;
}
