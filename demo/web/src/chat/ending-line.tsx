import { ArrowRight, CircleSlash2, RotateCcw } from 'lucide-react';
import { handFocusOn } from '../composer/focus-box.ts';
import { useMessages } from '../i18n/language.tsx';
import { Button } from '../ui/button.tsx';
import type { Ending } from './ending.ts';

/** The line below a message that is incomplete. It says why, and has a button to continue or to ask again. */
export function EndingLine({
  ending,
  onContinue,
  onAgain,
}: {
  ending: Ending;
  onContinue: (() => void) | null;
  onAgain: (() => void) | null;
}) {
  const { message, errors } = useMessages();
  return (
    <p
      data-testid="ending"
      data-ending={ending}
      className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-soft"
    >
      <span className="flex min-w-0 items-center gap-x-3">
        <CircleSlash2 className="size-4 shrink-0" aria-hidden="true" />
        {message.endings[ending]}
      </span>
      {onContinue ? (
        <Button ref={handFocusOn} look="link" onClick={onContinue} className="min-h-8! px-2.5!">
          <ArrowRight className="size-4" aria-hidden="true" />
          {message.continueAnswer}
        </Button>
      ) : null}
      {onAgain ? (
        <Button look="link" onClick={onAgain} className="min-h-8! px-2.5!">
          <RotateCcw className="size-4" aria-hidden="true" />
          {errors.retry}
        </Button>
      ) : null}
    </p>
  );
}
