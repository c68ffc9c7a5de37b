import { ChevronRight } from 'lucide-react';
import { Collapsible } from 'radix-ui';
import type { ReactNode } from 'react';
import type { Messages } from '../i18n/en.ts';
import { useLanguage } from '../i18n/language.tsx';
import { failureText } from '../tools/failure-text.ts';
import type { ToolPart } from '../tools/tool-part.ts';
import type { CardState } from './card-state.ts';
import { Details } from './details.tsx';
import { LOOKS } from './look.ts';
import type { Question } from './question.ts';
import { Sentence } from './sentence.tsx';

/** A card in a final state: one line that the user can open. Failed and unknown outcomes are open at first. */
export function SettledCard({
  part,
  state,
  question,
  words,
  where,
  titleId,
  children,
}: {
  part: ToolPart;
  state: CardState;
  question: Question;
  /** The words of the card: those of an approval, or of a sign-in. */
  words: Messages['approval'];
  /** Says that the call was decided on another page; null when it was not. */
  where: string | null;
  titleId: string;
  /** The output of the call. */
  children: ReactNode;
}) {
  const { messages, language } = useLanguage();
  const { icon: Icon, mark, title, text } = LOOKS[state];
  return (
    <Collapsible.Root defaultOpen={state === 'failed' || state === 'unknown'}>
      <Collapsible.Trigger className="group flex w-full items-baseline gap-2.5 px-4 py-2.5 text-left text-sm">
        <Icon className={`size-4 shrink-0 self-center ${mark}`} aria-hidden="true" />
        <span data-testid="approval-state" className={`shrink-0 font-medium ${mark}`}>
          {title(words)}
        </span>
        <span id={titleId} className="min-w-0 grow text-soft">
          <Sentence question={question} />
          {where === null ? null : <span className="block text-xs">{where}</span>}
        </span>
        <ChevronRight
          className="size-4 shrink-0 self-center text-soft transition-transform group-data-[state=open]:rotate-90"
          aria-hidden="true"
        />
      </Collapsible.Trigger>
      <Collapsible.Content className="space-y-2 px-4 pb-3.5 ps-10.5 text-sm text-soft">
        {text ? <p>{text(words)}</p> : null}
        {state === 'failed' ? <p className="text-ink">{failureText(part, language, messages)}</p> : null}
        {part.approval?.reason ? (
          <p>
            {words.yourReason}: <q>{part.approval.reason}</q>
          </p>
        ) : null}
        <Details question={question} />
        {children}
      </Collapsible.Content>
    </Collapsible.Root>
  );
}
