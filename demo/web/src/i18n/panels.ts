import { useLanguage } from './language.tsx';
import { en, type PanelTexts } from './panels-en.ts';
import { ja } from './panels-ja.ts';

export type { PanelTexts };

/** The texts of the panels in each language. */
export const PANEL_TEXTS = { en, ja };

/** The texts of the panels in the language of the page. */
export function usePanelTexts(): PanelTexts {
  return PANEL_TEXTS[useLanguage().language];
}
