import { Check, ExternalLink, MessageSquarePlus, X } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useMessages } from '../i18n/language.tsx';
import { Button } from '../ui/button.tsx';
import { KEYS } from './shortcuts.ts';
import { useArmed } from './use-armed.ts';

/** The buttons to approve and to deny, and a field for the reason of a denial. */
export function AnswerForm({
  obstacle,
  signInUrl,
  mayGiveReason,
  reason,
  onReason,
  onDecide,
}: {
  /** Why the user cannot decide now; null when the user can. */
  obstacle: string | null;
  /** The address at which the user signs in. The button that opens it takes the place of Approve. */
  signInUrl: URL | null;
  mayGiveReason: boolean;
  reason: string;
  onReason: (reason: string) => void;
  onDecide: (isApproved: boolean) => void;
}) {
  const { approval, signIn } = useMessages();
  const [isReasonShown, showReason] = useState(false);
  const isArmed = useArmed();
  const isDisabled = !isArmed || obstacle !== null;
  const look = obstacle === null ? 'disabled:opacity-100' : '';
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isReasonShown) input.current?.focus();
  }, [isReasonShown]);
  return (
    <div className="space-y-3">
      {isReasonShown ? (
        <label className="block text-sm">
          <span className="text-soft">{approval.reasonLabel}</span>
          <input
            ref={input}
            value={reason}
            maxLength={500}
            placeholder={approval.reasonPlaceholder}
            onChange={(event) => onReason(event.target.value)}
            // Enter in the reason field denies. It must never approve, because users expect a reason to go with a
            // denial.
            onKeyDown={(event) => {
              if (
                event.key !== 'Enter' ||
                event.nativeEvent.isComposing ||
                isDisabled ||
                reason.trim() === ''
              )
                return;
              event.preventDefault();
              onDecide(false);
            }}
            enterKeyHint="send"
            className="mt-1 block h-10 w-full pointer-coarse:h-11 rounded-lg border border-line-strong bg-surface px-3 text-ink placeholder:text-soft"
          />
          <span className="mt-1 block text-xs text-soft">{approval.reasonHint}</span>
        </label>
      ) : null}
      {obstacle === null ? null : <p className="text-sm font-medium">{obstacle}</p>}
      <div className="flex flex-wrap items-center gap-2">
        <Button look="accent" disabled={isDisabled} onClick={() => onDecide(true)} className={look}>
          {signInUrl ? (
            <ExternalLink className="size-4" aria-hidden="true" />
          ) : (
            <Check className="size-4" aria-hidden="true" />
          )}
          {signInUrl ? signIn.open : approval.approve}
        </Button>
        <Button disabled={isDisabled} onClick={() => onDecide(false)} className={look}>
          <X className="size-4" aria-hidden="true" />
          {approval.deny}
        </Button>
        {mayGiveReason && !isReasonShown ? (
          <Button look="plain" onClick={() => showReason(true)} className="px-2!">
            <MessageSquarePlus className="size-4" aria-hidden="true" />
            {approval.addReason}
          </Button>
        ) : null}
        <span className="card-keys ml-auto text-xs text-soft">
          {(signInUrl ? signIn : approval).keys(KEYS.approve, KEYS.deny)}
        </span>
      </div>
    </div>
  );
}
