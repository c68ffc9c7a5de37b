import { MapPin } from 'lucide-react';
import { number } from '../../../web/src/i18n/format.ts';
import { useLanguage } from '../../../web/src/i18n/language.tsx';
import type { PageTool } from '../../../web/src/tools/page-tool.ts';
import { getLocation, LOCATION_FAILURES } from './get-location.ts';
import { WORDS } from './words.ts';

/** Where the person is, on the page. */
const tool: PageTool = {
  name: 'get_location',
  icon: MapPin,
  words: WORDS,
  sentence: (_input, isDone, language) => ({
    template: isDone ? WORDS[language].done : WORDS[language].asked,
    values: {},
    told: [],
  }),
  failure(errorText, language) {
    const { failures } = WORDS[language];
    const reasons = Object.keys(LOCATION_FAILURES) as (keyof typeof LOCATION_FAILURES)[];
    const known = reasons.find((reason) => LOCATION_FAILURES[reason] === errorText);
    return known && failures[known];
  },
  Result,
  start: () => ({ execute: getLocation }),
};

function Result({ output, className }: { output: Readonly<Record<string, unknown>>; className: string }) {
  const { language } = useLanguage();
  const { latitude, longitude, accuracy } = output;
  if (typeof latitude !== 'number' || typeof longitude !== 'number') return null;
  const side = (value: number, letters: [string, string]) =>
    `${number(Math.abs(value), language, 4)}° ${value < 0 ? letters[1] : letters[0]}`;
  return (
    <p className={`text-sm text-soft tabular-nums ${className}`}>
      {side(latitude, ['N', 'S'])}, {side(longitude, ['E', 'W'])}
      {typeof accuracy === 'number' ? ` · ${WORDS[language].accuracy(number(accuracy, language))}` : ''}
    </p>
  );
}

export default tool;
