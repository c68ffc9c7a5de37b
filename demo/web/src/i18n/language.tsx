import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { keep, kept } from '../storage/storage.ts';
import { en, type Messages } from './en.ts';

const STORED = 'duologue.language';

/** The languages of the page. */
export type Language = 'en' | 'ja';

interface Speech {
  language: Language;
  messages: Messages;
  setLanguage(language: Language): void;
}

const Context = createContext<Speech | null>(null);

/**
 * Provides the texts of the page: in the language that the user chose before, otherwise in that of the browser.
 * English is used when the texts of another language cannot be loaded.
 */
export function LanguageProvider({ children }: { children: ReactNode }) {
  const [wanted, setWanted] = useState<Language>(firstLanguage);
  const [spoken, setSpoken] = useState<Pick<Speech, 'language' | 'messages'> | null>(
    wanted === 'en' ? ENGLISH : null,
  );
  useEffect(() => {
    let isWanted = true;
    load(wanted).then((loaded) => {
      if (isWanted) setSpoken(loaded);
    });
    return () => {
      isWanted = false;
    };
  }, [wanted]);
  const language = spoken?.language;
  useEffect(() => {
    if (language !== undefined) document.documentElement.lang = language;
  }, [language]);
  const speech = useMemo(
    () =>
      spoken && {
        ...spoken,
        setLanguage: (chosen: Language) => {
          keep('localStorage', STORED, chosen);
          setWanted(chosen);
        },
      },
    [spoken],
  );
  return speech && <Context value={speech}>{children}</Context>;
}

const ENGLISH = { language: 'en', messages: en } as const;

/** Loads the texts of a language. Only the chosen language is loaded. */
async function load(language: Language): Promise<Pick<Speech, 'language' | 'messages'>> {
  if (language === 'en') return ENGLISH;
  return import('./ja.ts').then(
    ({ ja }) => ({ language, messages: ja }),
    () => ENGLISH,
  );
}

/** The language of the page with its texts, and a function that changes it. */
export function useLanguage(): Speech {
  const speech = useContext(Context);
  if (!speech) throw new Error('useLanguage must be called below a LanguageProvider.');
  return speech;
}

/** The texts of the page in its language. */
export function useMessages(): Messages {
  return useLanguage().messages;
}

/** All languages of the page, each with its own name for itself. */
export const languages: readonly { id: Language; name: string }[] = [
  { id: 'en', name: en.languageName },
  { id: 'ja', name: '日本語' },
];

function firstLanguage(): Language {
  const stored = kept('localStorage', STORED);
  if (stored === 'en' || stored === 'ja') return stored;
  const wanted = navigator.languages.find((tag) => /^(en|ja)\b/.test(tag));
  return wanted?.startsWith('ja') ? 'ja' : 'en';
}
