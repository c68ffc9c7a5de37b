import type { ConnectionState } from 'duologue/client';
import type { Mode } from 'duologue/react';
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

/** Shows the mode, or the problem of the connection, in few words and one colour; or that a recording is replayed. */
export function ConnectionBadge({
  mode,
  wanted,
  connection,
}: {
  mode: Mode;
  /** The mode that the user chose. If another mode is in force, this one takes effect after the current answer. */
  wanted: Mode;
  connection: ConnectionState;
}) {
  const { connection: words, mode: modes } = useMessages();
  const now = useNow(connection.status === 'reconnecting');
  const { replay } = useWire();
  const text = () => {
    if (replay) return words.replay;
    if (wanted !== mode) return modes.afterAnswer(modes[wanted]);
    switch (connection.status) {
      case 'idle':
      case 'live':
        return modes[mode];
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
      className="inline-flex items-center gap-2 whitespace-nowrap"
    >
      <span
        aria-hidden="true"
        className={`size-2 rounded-full ${replay ? 'bg-accent' : COLOURS[connection.status]}`}
      />
      <span className="sr-only sm:not-sr-only">{text()}</span>
      {wanted === mode || replay ? null : (
        // A narrow header has no room for the name of the mode.
        <span aria-hidden="true" className="sm:hidden">
          {modes.later}
        </span>
      )}
    </span>
  );
}
