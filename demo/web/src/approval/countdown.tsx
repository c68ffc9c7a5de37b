import { useEffect, useRef } from 'react';
import { useMessages } from '../i18n/language.tsx';
import { useAnnounce } from '../ui/announcer.tsx';
import { secondsUntil, useNow } from '../ui/use-now.ts';

const SOON_S = 10;

/** The seconds until an approval request or a question expires. Only the server decides that it has expired. */
export function Countdown({ expiresAt }: { expiresAt: number }) {
  const { approval } = useMessages();
  const announce = useAnnounce();
  const now = useNow(true);
  const began = useRef(now);
  const hasWarned = useRef(false);
  const seconds = secondsUntil(expiresAt, now);
  const isSoon = seconds <= SOON_S;
  useEffect(() => {
    if (!isSoon || hasWarned.current) return;
    hasWarned.current = true;
    announce(approval.announceSoon(seconds));
  }, [announce, approval, isSoon, seconds]);
  const share = Math.max(0, Math.min(1, (expiresAt - now) / Math.max(1, expiresAt - began.current)));
  return (
    <span
      role="timer"
      className={`inline-flex items-center gap-2 text-xs tabular-nums print:hidden ${isSoon ? 'font-medium text-bad' : 'text-soft'}`}
    >
      <svg viewBox="0 0 20 20" className="size-4 -rotate-90" aria-hidden="true">
        <circle cx="10" cy="10" r="8" fill="none" stroke="var(--line)" strokeWidth="3" />
        <circle
          cx="10"
          cy="10"
          r="8"
          fill="none"
          stroke="currentColor"
          strokeWidth="3"
          strokeDasharray={`${share * 50.27} 50.27`}
        />
      </svg>
      {seconds > 0 ? approval.secondsLeft(seconds) : approval.timeIsUp}
    </span>
  );
}
