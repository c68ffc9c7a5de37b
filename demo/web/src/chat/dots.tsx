import { useMessages } from '../i18n/language.tsx';

/** Shows that the assistant is working and has not written anything yet. */
export function Dots() {
  const { message } = useMessages();
  return (
    <div
      role="status"
      data-testid="thinking-indicator"
      className="flex h-7 animate-fade items-center gap-1.5"
    >
      <span className="sr-only">{message.thinking}</span>
      {[0, 160, 320].map((delay) => (
        <span
          key={delay}
          aria-hidden="true"
          style={{ animationDelay: `${delay}ms` }}
          className="size-2 animate-breathe rounded-full bg-accent"
        />
      ))}
    </div>
  );
}
