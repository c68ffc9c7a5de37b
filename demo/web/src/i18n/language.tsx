import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { keep, kept } from '../storage/storage.ts';
import { en, type Messages } from './en.ts';
import { ja } from './ja.ts';

const TABLES = { en, ja } as const;
const STORED = 'duologue.language';

/** The languages of the page. */
export type Language = keyof typeof TABLES;

interface Speech {
  language: Language;
  messages: Messages;
  setLanguage(language: Language): void;
}

const Context = createContext<Speech | null>(null);

/** Gives the page its language: the one chosen before, else the browser's. */
export function LanguageProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState<Language>(firstLanguage);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  const speech = useMemo(
    () => ({
      language,
      messages: TABLES[language],
      setLanguage: (chosen: Language) => {
        keep('localStorage', STORED, chosen);
        setLanguage(chosen);
      },
    }),
    [language],
  );
  return <Context value={speech}>{children}</Context>;
}

/** The language of the page, and the way to change it. */
export function useLanguage(): Speech {
  const speech = useContext(Context);
  if (!speech) throw new Error('A LanguageProvider must stand above.');
  return speech;
}

/** The sentences of the page, in its language. */
export function useMessages(): Messages {
  return useLanguage().messages;
}

/** The languages there are, each by its own name. */
export const languages: readonly { id: Language; name: string }[] = [
  { id: 'en', name: en.languageName },
  { id: 'ja', name: ja.languageName },
];

function firstLanguage(): Language {
  const stored = kept('localStorage', STORED);
  if (stored === 'en' || stored === 'ja') return stored;
  const wanted = navigator.languages.find((tag) => /^(en|ja)\b/.test(tag));
  return wanted?.startsWith('ja') ? 'ja' : 'en';
}
