import { useState } from 'react';
import { useMessages } from '../i18n/language.tsx';
import type { Question } from './question.ts';
import { reveal } from './reveal.ts';

const LONG = 180;

/**
 * Shows every argument that the sentence of the card does not contain. Long values are cut, with a button that shows
 * all.
 */
export function Details({ question: { input, inSentence } }: { question: Question }) {
  const { approval } = useMessages();
  const entries = Object.entries(input).filter(([name]) => !inSentence.includes(name));
  if (entries.length === 0) return null;
  return (
    <dl
      aria-label={approval.details}
      className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 items-baseline rounded-xl bg-surface/70 px-4 py-3 text-sm"
    >
      {entries.map(([name, value]) => (
        <Detail key={name} name={reveal(name)} value={value} />
      ))}
    </dl>
  );
}

function Detail({ name, value }: { name: string; value: unknown }) {
  const messages = useMessages();
  const [isUnfolded, setUnfolded] = useState(false);
  const text = reveal(typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? String(value)));
  const isLong = text.length > LONG;
  return (
    <>
      <dt className="font-mono text-xs text-soft">{name}</dt>
      <dd className="min-w-0 break-words whitespace-pre-wrap">
        {text === '' ? (
          <span className="text-soft italic">{messages.approval.emptyValue}</span>
        ) : (
          <bdi>{isLong && !isUnfolded ? `${text.slice(0, LONG)}…` : text}</bdi>
        )}
        {isLong ? (
          <button
            type="button"
            aria-expanded={isUnfolded}
            onClick={() => setUnfolded(!isUnfolded)}
            className="ml-2 text-accent underline underline-offset-2"
          >
            {isUnfolded ? messages.showLess : messages.showAll}
          </button>
        ) : null}
      </dd>
    </>
  );
}
