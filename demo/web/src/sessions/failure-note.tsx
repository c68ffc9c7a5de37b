import { X } from 'lucide-react';
import { handFocusOn } from '../composer/focus-box.ts';
import { useMessages } from '../i18n/language.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import type { Sessions } from './use-sessions.ts';

/** Says that a change to the list of conversations failed. */
export function FailureNote({ sessions: { failure, forgetFailure } }: { sessions: Sessions }) {
  const { sessions, errors } = useMessages();
  if (failure === null) return null;
  return (
    <div
      ref={handFocusOn}
      role="alert"
      data-testid="sessions-failure"
      className="fixed inset-x-4 top-4 z-50 mx-auto flex max-w-md animate-fade items-start gap-3 rounded-2xl border border-bad-line bg-bad-tint py-2 pr-2 pl-4 text-sm shadow-float print:hidden"
    >
      <p className="min-w-0 grow py-1.5">{sessions.failed[failure]}</p>
      <IconButton label={errors.dismiss} onClick={forgetFailure}>
        <X className="size-4" />
      </IconButton>
    </div>
  );
}
