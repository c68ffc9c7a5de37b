import { CloudSun } from 'lucide-react';
import { celsius, number } from '../../../web/src/i18n/format.ts';
import { type Language, useLanguage } from '../../../web/src/i18n/language.tsx';
import { translated } from '../../../web/src/i18n/translate.ts';
import type { PageTool } from '../../../web/src/tools/page-tool.ts';
import { PAGE, REASONS_JA } from '../texts/index.ts';

/** The page part of the weather tool. */
const tool: PageTool = { name: 'get_weather', icon: CloudSun, words: PAGE, failure, Result };

function failure(errorText: string, language: Language): string | undefined {
  return language === 'ja' ? translated(errorText, REASONS_JA) : undefined;
}

function Result({ output, className }: { output: Readonly<Record<string, unknown>>; className: string }) {
  const { language } = useLanguage();
  const words = PAGE[language];
  const { location, temperature, condition, humidity, sample } = output;
  if (typeof temperature !== 'number') return null;
  return (
    <div className={`flex flex-wrap items-baseline gap-x-4 gap-y-1 ${className}`}>
      <span className="text-3xl font-light tabular-nums">{celsius(temperature, language)}</span>
      <span className="text-sm">
        <span className="font-medium">{String(location ?? '')}</span>
        <span className="text-soft">
          {' · '}
          {words.conditions[String(condition)] ?? String(condition ?? '')}
          {typeof humidity === 'number' ? ` · ${words.humidity(`${number(humidity, language)} %`)}` : ''}
        </span>
      </span>
      {sample === true ? (
        <span className="rounded-full border border-line px-2 py-0.5 text-xs text-soft">{words.sample}</span>
      ) : null}
    </div>
  );
}

export default tool;
