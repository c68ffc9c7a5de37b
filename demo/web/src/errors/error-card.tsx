import { CircleAlert, RotateCcw, X } from 'lucide-react';
import { useState } from 'react';
import { handFocusOn } from '../composer/focus-box.ts';
import { useMessages } from '../i18n/language.tsx';
import { Button } from '../ui/button.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import { secondsUntil, useNow } from '../ui/use-now.ts';
import { plainError } from './plain-words.ts';

/** Shows an error: what failed, and what the user can do. */
export function ErrorCard({
  error,
  about = 'message',
  onRetry,
  onDismiss,
}: {
  error: Error;
  /** What the user was doing: sending a message, or opening a conversation. */
  about?: 'message' | 'conversation';
  /** Called for "Try again"; null when a retry is impossible. */
  onRetry: (() => void) | null;
  onDismiss: () => void;
}) {
  const { errors } = useMessages();
  const { title, text, canRetry, retryAfterMs, details } = plainError(error, errors, about);
  const [began] = useState(() => Date.now());
  const until = retryAfterMs === null ? 0 : began + retryAfterMs;
  const seconds = secondsUntil(until, useNow(until > Date.now()));
  return (
    <section
      ref={handFocusOn}
      role="alert"
      data-testid="error-card"
      className="animate-rise rounded-2xl border border-bad-line bg-bad-tint p-4"
    >
      <div className="flex items-start gap-3">
        <CircleAlert className="mt-1 size-5 shrink-0 text-bad" aria-hidden="true" />
        <div className="min-w-0 grow">
          <h2 className="font-semibold">{title}</h2>
          <p className="text-sm text-soft">{text}</p>
        </div>
        <IconButton label={errors.dismiss} onClick={onDismiss} className="-mt-1 -mr-1">
          <X className="size-4" />
        </IconButton>
      </div>
      <div className="mt-3 flex flex-wrap items-center gap-4 pl-8">
        {canRetry && onRetry ? (
          <Button onClick={onRetry} disabled={seconds > 0} className="tabular-nums">
            <RotateCcw className="size-4" aria-hidden="true" />
            {seconds > 0 ? errors.retryIn(seconds) : errors.retry}
          </Button>
        ) : null}
        {details.endsWith(text) ? null : (
          <details className="text-xs text-soft">
            <summary>{errors.details}</summary>
            <p className="mt-1 font-mono break-words">{details}</p>
          </details>
        )}
      </div>
    </section>
  );
}
