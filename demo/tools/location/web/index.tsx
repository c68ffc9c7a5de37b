import { MapPin } from 'lucide-react';
import { number } from '../../../web/src/i18n/format.ts';
import { useLanguage } from '../../../web/src/i18n/language.tsx';
import { translated } from '../../../web/src/i18n/translate.ts';
import type { PageTool } from '../../../web/src/tools/page-tool.ts';
import { PAGE, REASONS } from '../texts/index.ts';
import { getLocation } from './get-location.ts';

/** The page part of the location tool. */
const tool: PageTool = {
  name: 'get_location',
  icon: MapPin,
  words: PAGE,
  sentence: (_input, isDone, language) => ({
    template: isDone ? PAGE[language].done : PAGE[language].asked,
    values: {},
    inSentence: [],
  }),
  failure: (errorText, language) => translated(errorText, REASONS[language]),
  Result,
  start: () => ({ execute: getLocation }),
};

function Result({ output, className }: { output: Readonly<Record<string, unknown>>; className: string }) {
  const { language } = useLanguage();
  const { latitude, longitude, accuracy } = output;
  if (typeof latitude !== 'number' || typeof longitude !== 'number') return null;
  const { compass, accuracy: within } = PAGE[language];
  const degrees = (value: number) => number(Math.abs(value), language, 4);
  const north = latitude < 0 ? compass.south : compass.north;
  const east = longitude < 0 ? compass.west : compass.east;
  return (
    <p className={`text-sm text-soft tabular-nums ${className}`}>
      {north(degrees(latitude))}, {east(degrees(longitude))}
      {typeof accuracy === 'number' ? ` · ${within(number(accuracy, language))}` : ''}
    </p>
  );
}

export default tool;
