import { ShieldAlert } from 'lucide-react';
import { useEffect } from 'react';
import { askingCards, goToCard } from '../approval/go-to-card.ts';
import { useMessages } from '../i18n/language.tsx';
import { Button } from '../ui/button.tsx';
import { focusBox, handFocusOn } from './focus-box.ts';

/** Warns that a queued message would cancel an open approval or question, and lets the user choose. */
export function CancelWarning({ onSend }: { onSend: () => void }) {
  const { composer } = useMessages();
  // The warning makes the conversation shorter, which scrolls to its end in the next frame. So the card is scrolled
  // into view one frame later.
  useEffect(() => {
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(() => askingCards()[0]?.scrollIntoView({ block: 'nearest' }));
    });
    return () => cancelAnimationFrame(frame);
  }, []);
  const answer = () => {
    const [card] = askingCards();
    if (card) goToCard(card);
  };
  return (
    <div
      ref={handFocusOn}
      role="status"
      data-testid="cancel-warning"
      className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-b-xl border-t border-warn-line bg-warn-tint px-4 py-2 text-sm"
    >
      <ShieldAlert className="size-4" aria-hidden="true" />
      <span className="min-w-48 grow basis-0">{composer.cancels}</span>
      <Button look="accent" onClick={answer}>
        {composer.answerFirst}
      </Button>
      <Button
        onClick={() => {
          onSend();
          focusBox();
        }}
      >
        {composer.sendAnyway}
      </Button>
    </div>
  );
}
