import { useEffect, useState } from 'react';
import { usePanelTexts } from '../i18n/panels.ts';
import { RichText } from '../markdown/rich-text.tsx';
import { loadRules, rulesOf } from './rules.ts';

/** The numbers of the rules of PROTOCOL.md for a row, and the text of the selected rule. */
export function RuleTexts({ type }: { type: string }) {
  const words = usePanelTexts().inspector;
  const numbers = rulesOf(type);
  const [rules, setRules] = useState<ReadonlyMap<string, string>>(new Map());
  const [chosen, setChosen] = useState(0);
  useEffect(() => {
    let isWanted = true;
    // If the texts cannot be loaded, only the numbers are shown.
    loadRules().then(
      (loaded) => isWanted && setRules(loaded),
      () => undefined,
    );
    return () => {
      isWanted = false;
    };
  }, []);
  const text = rules.get(numbers[chosen] ?? '');
  if (numbers.length === 0) return null;
  return (
    <section aria-label={words.rules} className="mb-3 rounded-lg bg-sunken px-3 py-2 text-xs">
      <div className="flex flex-wrap items-center gap-1.5">
        <span className="text-soft">{words.rules}</span>
        {numbers.map((number, index) => (
          <button
            key={number}
            type="button"
            aria-pressed={index === chosen}
            onClick={() => setChosen(index)}
            className="h-6 rounded-full border border-line-strong px-2 font-mono text-soft transition-colors hover:text-ink aria-pressed:border-accent-line aria-pressed:bg-accent-tint aria-pressed:text-ink"
          >
            {number}
          </button>
        ))}
      </div>
      {text ? (
        <div className="mt-2 leading-5">
          <RichText text={text} isGrowing={false} />
        </div>
      ) : null}
    </section>
  );
}
