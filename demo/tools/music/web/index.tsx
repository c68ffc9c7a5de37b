import { Music2 } from 'lucide-react';
import { reveal } from '../../../web/src/approval/reveal.ts';
import { useLanguage } from '../../../web/src/i18n/language.tsx';
import { translated } from '../../../web/src/i18n/translate.ts';
import type { PageTool } from '../../../web/src/tools/page-tool.ts';
import { PAGE, REASONS_JA } from '../texts/index.ts';
import { changeMusic } from './change-music.ts';
import { MusicControl } from './music-control.tsx';
import { MusicPlayer } from './player.ts';

/** The page part of the music tool. */
const tool: PageTool = {
  name: 'change_bgm',
  icon: Music2,
  words: PAGE,
  sentence: (input, isDone, language) => ({
    template: isDone ? PAGE[language].done : PAGE[language].asked,
    values: { track: reveal(String(input.track ?? input.track_name ?? '?')) },
    inSentence: input.track === undefined ? ['track_name'] : ['track'],
  }),
  failure: (errorText, language) => (language === 'ja' ? translated(errorText, REASONS_JA) : undefined),
  Result,
  start() {
    const player = new MusicPlayer();
    return {
      execute: changeMusic(player),
      Control: () => <MusicControl player={player} />,
      duck: (isSpeech) => player.duck(isSpeech),
    };
  },
};

function Result({ output, className }: { output: Readonly<Record<string, unknown>>; className: string }) {
  const { language } = useLanguage();
  const { switched, tracks } = PAGE[language];
  const { track } = output;
  if (track !== 1 && track !== 2) return null;
  return <p className={`text-sm text-soft ${className}`}>{switched(tracks[track])}</p>;
}

export default tool;
