import type { ConnectionState } from 'duologue/client';
import { MonitorSmartphone, RefreshCw, WifiOff } from 'lucide-react';
import type { ReactNode } from 'react';
import { useMessages } from '../i18n/language.tsx';
import { Button } from '../ui/button.tsx';
import { secondsUntil, useNow } from '../ui/use-now.ts';

/** Says what is wrong with the connection, and what to do about it; nothing while all is well. */
export function ConnectionBanner({
  connection,
  onReconnect,
}: {
  connection: ConnectionState;
  onReconnect: () => void;
}) {
  const { connection: words } = useMessages();
  const isCounting = connection.status === 'reconnecting';
  const now = useNow(isCounting);
  switch (connection.status) {
    case 'offline':
      return (
        <Banner
          icon={<WifiOff className="size-4" />}
          text={words.offlineText}
          look="border-bad-line bg-bad-tint"
        />
      );
    case 'reconnecting':
      return (
        <Banner
          icon={<RefreshCw className="size-4" />}
          text={words.reconnectingText(secondsUntil(connection.retryAt, now))}
          look="border-warn-line bg-warn-tint"
        >
          <Button onClick={onReconnect}>{words.tryNow}</Button>
        </Banner>
      );
    case 'taken-over':
      return (
        <Banner
          icon={<MonitorSmartphone className="size-4" />}
          text={words.takenOverText}
          look="border-odd-line bg-odd-tint"
        >
          <Button look="accent" onClick={onReconnect}>
            {words.useHere}
          </Button>
        </Banner>
      );
    case 'closed':
      return (
        <Banner icon={<WifiOff className="size-4" />} text={words.closed} look="border-bad-line bg-bad-tint">
          <Button onClick={onReconnect}>{words.tryNow}</Button>
        </Banner>
      );
    default:
      return null;
  }
}

function Banner({
  icon,
  text,
  look,
  children,
}: {
  icon: ReactNode;
  text: string;
  look: string;
  children?: ReactNode;
}) {
  return (
    <div
      role="status"
      aria-live="polite"
      data-testid="connection-banner"
      className={`mb-2 flex animate-rise flex-wrap items-center gap-x-3 gap-y-2 rounded-2xl border px-4 py-2 text-sm ${look}`}
    >
      <span aria-hidden="true">{icon}</span>
      <span className="min-w-48 grow basis-0 tabular-nums">{text}</span>
      {children}
    </div>
  );
}
