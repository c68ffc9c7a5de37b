import { CloudSun, CreditCard, type LucideIcon, MapPin, Music2, ScrollText, Users } from 'lucide-react';
import { useMessages } from '../i18n/language.tsx';
import { Logo } from '../ui/logo.tsx';

const ICONS: readonly LucideIcon[] = [CreditCard, Users, CloudSun, Music2, MapPin, ScrollText];

/** What a conversation shows before its first word. */
export function Empty({ onSuggest }: { onSuggest: (text: string) => void }) {
  const { empty } = useMessages();
  return (
    <div className="flex min-h-full flex-col justify-center py-10">
      <Logo className="size-12" />
      <h2 className="mt-6 text-3xl font-semibold tracking-tight">{empty.title}</h2>
      <p className="mt-3 max-w-prose text-soft">{empty.hint}</p>
      <ul aria-label={empty.tryOne} className="mt-8 grid gap-2.5 sm:grid-cols-2">
        {empty.suggestions.map(({ title, text }, index) => {
          const Icon = ICONS[index] ?? ScrollText;
          return (
            <li key={text}>
              <button
                type="button"
                onClick={() => onSuggest(text)}
                className="flex h-full w-full items-start gap-3 rounded-2xl border border-line bg-surface px-4 py-3.5 text-left transition-colors hover:border-accent-line hover:bg-accent-tint/50"
              >
                <Icon className="mt-1 size-4.5 shrink-0 text-accent" aria-hidden="true" />
                <span>
                  <span className="block text-sm font-medium">{title}</span>
                  <span className="block text-sm text-soft">{text}</span>
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
