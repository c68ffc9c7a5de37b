import { useEffect, useState } from 'react';
import { keep, kept } from '../storage/storage.ts';

const STORED = 'duologue.theme';

/** What the user wants: one of the two, or what the system says. */
export type Theme = 'light' | 'dark' | 'system';

/** The appearance of the page, and the way to change it. */
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

/** Paints the page before the first component does, so that it never flashes. */
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
