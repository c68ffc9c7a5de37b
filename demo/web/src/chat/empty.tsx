import { ScrollText } from 'lucide-react';
import { useLanguage } from '../i18n/language.tsx';
import { PAGE_TOOLS } from '../tools/page-tools.tsx';
import { Logo } from '../ui/logo.tsx';

/** The content of a conversation without messages: a greeting and examples. */
export function Empty({ onSuggest }: { onSuggest: (text: string) => void }) {
  const { messages, language } = useLanguage();
  const { empty } = messages;
  const suggestions = [
    ...PAGE_TOOLS.flatMap(({ icon, suggestionIcons = [], words }) =>
      words[language].suggestions.map((one, index) => ({ icon: suggestionIcons[index] ?? icon, ...one })),
    ),
    { icon: ScrollText, ...empty.longer },
  ];
  return (
    <div className="flex min-h-full flex-col justify-center sm:py-10">
      <Logo className="size-9 sm:size-12" />
      <h2 className="mt-4 text-2xl sm:mt-6 sm:text-3xl font-semibold tracking-tight">{empty.title}</h2>
      <p className="mt-2 max-w-prose text-sm text-soft sm:mt-3 sm:text-base">{empty.hint}</p>
      <ul aria-label={empty.tryOne} className="mt-5 grid gap-1.5 sm:mt-8 sm:grid-cols-2 sm:gap-2.5">
        {suggestions.map(({ icon: Icon, title, text }) => {
          return (
            <li key={text}>
              <button
                type="button"
                onClick={() => onSuggest(text)}
                className="flex h-full w-full items-center gap-3 rounded-xl border border-line bg-surface px-3 py-2 sm:items-start sm:rounded-2xl sm:px-4 sm:py-3.5 text-left transition-colors hover:border-accent-line hover:bg-accent-tint/50"
              >
                <Icon className="size-4.5 sm:mt-1 shrink-0 text-accent" aria-hidden="true" />
                <span>
                  <span className="hidden text-sm font-medium sm:block">{title}</span>
                  <span className="block text-sm sm:text-soft">{text}</span>
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
