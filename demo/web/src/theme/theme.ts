import { useEffect, useState } from 'react';
import { keep, kept } from '../storage/storage.ts';

const STORED = 'duologue.theme';

/** The appearance that the user chose: light, dark, or that of the operating system. */
export type Theme = 'light' | 'dark' | 'system';

/** The appearance that the user chose, and a function that changes it. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(storedTheme);
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)');
    const apply = () => showTheme(theme, query.matches);
    apply();
    query.addEventListener('change', apply);
    return () => query.removeEventListener('change', apply);
  }, [theme]);
  return [
    theme,
    (chosen) => {
      keep('localStorage', STORED, chosen);
      setTheme(chosen);
    },
  ];
}

/** Applies the stored appearance before React renders, so that the page does not flash in the other colours. */
export function paintTheme(): void {
  showTheme(storedTheme(), matchMedia('(prefers-color-scheme: dark)').matches);
}

function showTheme(theme: Theme, isSystemDark: boolean): void {
  const isDark = theme === 'dark' || (theme === 'system' && isSystemDark);
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
}

function storedTheme(): Theme {
  const stored = kept('localStorage', STORED);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}
