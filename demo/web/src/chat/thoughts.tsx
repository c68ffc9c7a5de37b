import { Brain, ChevronRight } from 'lucide-react';
import { Collapsible } from 'radix-ui';
import { useMessages } from '../i18n/language.tsx';

/** The reasoning of the model, folded. */
export function Thoughts({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  const { message } = useMessages();
  return (
    <Collapsible.Root className="text-sm text-soft">
      <Collapsible.Trigger className="group inline-flex items-center gap-2 rounded-lg py-1 hover:text-ink">
        <Brain className={`size-4 ${isGrowing ? 'animate-pulse' : ''}`} aria-hidden="true" />
        {isGrowing ? message.thoughtWhile : message.thoughts}
        <ChevronRight
          className="size-4 transition-transform group-data-[state=open]:rotate-90"
          aria-hidden="true"
        />
      </Collapsible.Trigger>
      <Collapsible.Content dir="auto" className="mt-1 border-s-2 border-line ps-4 whitespace-pre-wrap">
        {text}
      </Collapsible.Content>
    </Collapsible.Root>
  );
}
