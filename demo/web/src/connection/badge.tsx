import type { ConnectionState } from 'duologue/client';
import { useMessages } from '../i18n/language.tsx';
import { secondsUntil, useNow } from '../ui/use-now.ts';
import { useWire } from '../wire/wire.tsx';

const COLOURS: Readonly<Record<ConnectionState['status'], string>> = {
  idle: 'bg-line-strong',
  connecting: 'bg-info animate-pulse',
  live: 'bg-good',
  reconnecting: 'bg-warn animate-pulse',
  offline: 'bg-bad',
  'taken-over': 'bg-odd',
  closed: 'bg-bad',
};

/** How the connection is doing, in one word and one colour; or that there is none, but a recording. */
export function ConnectionBadge({ connection }: { connection: ConnectionState }) {
  const { connection: words } = useMessages();
  const now = useNow(connection.status === 'reconnecting');
  const { replay } = useWire();
  const text = () => {
    if (replay) return words.replay;
    switch (connection.status) {
      case 'reconnecting':
        return words.reconnecting(secondsUntil(connection.retryAt, now));
      case 'taken-over':
        return words.takenOver;
      default:
        return words[connection.status];
    }
  };
  return (
    <span
      data-testid="connection"
      data-status={connection.status}
      className="inline-flex items-center gap-2 text-xs whitespace-nowrap text-soft"
    >
      <span
        aria-hidden="true"
        className={`size-2 rounded-full ${replay ? 'bg-accent' : COLOURS[connection.status]}`}
      />
      <span className="sr-only sm:not-sr-only">{text()}</span>
    </span>
  );
}
