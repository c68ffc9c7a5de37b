import { Music2 } from 'lucide-react';
import { reveal } from '../../../web/src/approval/reveal.ts';
import { useLanguage } from '../../../web/src/i18n/language.tsx';
import type { PageTool } from '../../../web/src/tools/page-tool.ts';
import { changeMusic } from './change-music.ts';
import { MusicControl } from './music-control.tsx';
import { MusicPlayer } from './player.ts';
import { WORDS } from './words.ts';

/** The background music of the page. */
const tool: PageTool = {
  name: 'change_bgm',
  icon: Music2,
  words: WORDS,
  sentence: (input, isDone, language) => ({
    template: isDone ? WORDS[language].done : WORDS[language].asked,
    values: { track: reveal(String(input.track ?? input.track_name ?? '?')) },
    told: input.track === undefined ? ['track_name'] : ['track'],
  }),
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
  const { playing, tracks } = WORDS[language];
  const { track } = output;
  if (track !== 1 && track !== 2) return null;
  return <p className={`text-sm text-soft ${className}`}>{playing(tracks[track])}</p>;
}

export default tool;
