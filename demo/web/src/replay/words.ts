import { type Language, useLanguage } from '../i18n/language.tsx';

const en = {
  title: 'Replay',
  label: 'Replay of a recording',
  play: 'Play',
  pause: 'Pause',
  step: 'Next event',
  fast: 'To the end',
  again: 'From the beginning',
  close: 'Back to the conversation',
  position: (position: string, total: string) => `${position} of ${total}`,
  progress: 'How much was played',
  matches: 'The page shows what it showed then.',
  differs: 'The page does not show what it showed then.',
  cut: 'The beginning was too long to keep.',
};

const TABLES: Record<Language, typeof en> = {
  en,
  ja: {
    title: '再生',
    label: '記録の再生',
    play: '再生',
    pause: '一時停止',
    step: '次のイベント',
    fast: '最後まで',
    again: '最初から',
    close: '会話に戻る',
    position: (position, total) => `${position} / ${total}`,
    progress: '再生した量',
    matches: '記録したときと同じ表示です。',
    differs: '記録したときの表示と異なります。',
    cut: '長すぎたため、初めの部分は残っていません。',
  },
};

/** The sentences of a replay, in the language of the page. */
export function useWords(): typeof en {
  return TABLES[useLanguage().language];
}
