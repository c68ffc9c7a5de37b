import type { ConnectionState } from 'duologue/client';
import { MonitorSmartphone, RefreshCw, WifiOff } from 'lucide-react';
import { useMessages } from '../i18n/language.tsx';
import { Banner } from '../ui/banner.tsx';
import { Button } from '../ui/button.tsx';
import { secondsUntil, useNow } from '../ui/use-now.ts';

const ID = 'connection-banner';

/** Says what is wrong with the connection and what the user can do; empty while the connection works. */
export function ConnectionBanner({
  connection,
  isAnswering,
  onReconnect,
  onTake,
}: {
  connection: ConnectionState;
  /**
   * Whether an answer was in progress when the connection broke. Then the page cannot know whether the rest will
   * come.
   */
  isAnswering: boolean;
  /** Reconnects now; null when no retry is needed. */
  onReconnect: (() => void) | null;
  /** Makes this page the active one; null when it is. */
  onTake: (() => void) | null;
}) {
  const { connection: words } = useMessages();
  const isCounting = connection.status === 'reconnecting';
  const now = useNow(isCounting);
  switch (connection.status) {
    case 'offline':
      return (
        <Banner
          id={ID}
          icon={<WifiOff className="size-4" />}
          text={words.offlineText}
          look="border-bad-line bg-bad-tint"
        />
      );
    case 'reconnecting':
      return (
        <Banner
          id={ID}
          icon={<RefreshCw className="size-4" />}
          text={`${words.reconnectingText(secondsUntil(connection.retryAt, now))} ${isAnswering ? words.lostAnswer : words.lostIdle}`}
          look="border-warn-line bg-warn-tint"
        >
          {onReconnect ? <Button onClick={onReconnect}>{words.tryNow}</Button> : null}
        </Banner>
      );
    case 'taken-over':
      return (
        <Banner
          id={ID}
          icon={<MonitorSmartphone className="size-4" />}
          text={words.takenOverText}
          look="border-odd-line bg-odd-tint"
        >
          {onReconnect ? (
            <Button look="accent" onClick={onReconnect}>
              {words.useHere}
            </Button>
          ) : null}
        </Banner>
      );
    case 'closed':
      return (
        <Banner
          id={ID}
          icon={<WifiOff className="size-4" />}
          text={words.closed}
          look="border-bad-line bg-bad-tint"
        >
          {onReconnect ? <Button onClick={onReconnect}>{words.tryNow}</Button> : null}
        </Banner>
      );
    default:
      return onTake ? (
        <Banner
          id={ID}
          icon={<MonitorSmartphone className="size-4" />}
          text={words.watchingText}
          look="border-line bg-surface text-soft"
        >
          <Button onClick={onTake}>{words.useHere}</Button>
        </Banner>
      ) : null;
  }
}
