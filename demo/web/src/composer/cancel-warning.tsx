import { ShieldAlert } from 'lucide-react';
import { askingCards, goToCard } from '../approval/go-to-card.ts';
import { useMessages } from '../i18n/language.tsx';
import { Banner } from '../ui/banner.tsx';
import { Button } from '../ui/button.tsx';
import { focusBox } from './focus-box.ts';

/** Says that a message which waits would cancel an open approval, and lets the person choose. */
export function CancelWarning({ onSend }: { onSend: () => void }) {
  const { composer } = useMessages();
  const answer = () => {
    const [card] = askingCards();
    if (card) goToCard(card);
  };
  return (
    <Banner
      id="cancel-warning"
      icon={<ShieldAlert className="size-4" />}
      text={composer.cancels}
      look="border-warn-line bg-warn-tint"
    >
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
    </Banner>
  );
}
