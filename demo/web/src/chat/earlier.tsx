import { type RefCallback, useCallback, useRef, useState } from 'react';
import { handFocusOn } from '../composer/focus-box.ts';
import { useMessages } from '../i18n/language.tsx';
import { useAnnounce } from '../ui/announcer.tsx';
import { Button } from '../ui/button.tsx';

/** The button above the first message that loads earlier ones. They are also loaded when the user scrolls up to it. */
export function Earlier({ onLoad, isAtEnd }: { onLoad: () => Promise<void>; isAtEnd: boolean }) {
  const { message: words } = useMessages();
  const announce = useAnnounce();
  const [status, setStatus] = useState<'idle' | 'loading' | 'failed'>('idle');
  const load = async () => {
    if (status === 'loading') return;
    setStatus('loading');
    try {
      await onLoad();
      setStatus('idle');
      announce(words.earlierShown);
    } catch {
      setStatus('failed');
      announce(words.earlierFailed);
    }
  };
  // Nothing is loaded while the list is at its end, because then the user did not scroll, and after a failure only by
  // a click.
  const seen = useRef(() => {});
  seen.current = () => {
    if (!isAtEnd && status === 'idle') void load();
  };
  const watch: RefCallback<HTMLElement> = useCallback((node) => {
    if (!node) return;
    const observer = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting) seen.current();
    });
    observer.observe(node);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={watch} className="flex justify-center print:hidden">
      <Button ref={handFocusOn} look="plain" aria-busy={status === 'loading'} onClick={() => void load()}>
        {status === 'failed'
          ? words.earlierFailed
          : status === 'loading'
            ? words.earlierLoading
            : words.earlier}
      </Button>
    </div>
  );
}
